// The OpenAPI 3.1 document of the routes that the controllers have. Pure: routes in, document out.
import 'reflect-metadata';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { ERRORS, type ErrorType } from '#libs/schemas/errors.js';
import { describedOperations, type DescribedOperation } from './open-api-operations.js';

export interface OpenApiDocument {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string };
  paths: Record<string, Record<string, object>>;
  components: { schemas: Record<string, object> };
}

/** `GET /api/runs/{id}` for every route of these controllers. */
export function routesOf(controllers: readonly Type[]): string[] {
  return controllers.flatMap((controller) => {
    const prefixes = [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat();
    const prototype = controller.prototype as Record<string, unknown>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = Object.getOwnPropertyDescriptor(prototype, name)?.value as object | undefined;
      if (typeof handler !== 'function') return [];
      const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
      if (method === undefined) return [];
      const paths = [Reflect.getMetadata(PATH_METADATA, handler) as string | string[]].flat();
      return prefixes.flatMap((prefix) => paths.map((path) => `${RequestMethod[method]} ${openApiPath(prefix, path)}`));
    });
  });
}

/** `:id` is `{id}`; a wildcard (`*`, `*path`, `{*path}`) is `{path}`, which may contain slashes. */
function openApiPath(...parts: string[]): string {
  const path = `/${parts.join('/')}`.replaceAll(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '');
  return path.replaceAll(/:([A-Za-z_]\w*)/g, '{$1}').replaceAll(/\{?\*\w*\}?/g, '{path}');
}

export function openApiDocument(routes: readonly string[]): OpenApiDocument {
  const paths: OpenApiDocument['paths'] = {};
  for (const route of [...routes].sort((left, right) => left.localeCompare(right))) {
    const [method, path] = route.split(' ') as [string, string];
    (paths[path] ??= {})[method.toLowerCase()] = operationOf(route, path, describedOperations[route]);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Signalbox',
      version: 'v1',
      description: 'A self-hosted chat gateway that runs tools for any OpenAI client.',
    },
    paths,
    components: { schemas: { Error: errorSchema } },
  };
}

function operationOf(route: string, path: string, described: DescribedOperation | undefined): object {
  const { summary = route, tag, description, body, binaryBody, headers, query, answers, status } = described ?? {};
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    ...(name === 'path' ? { description: 'May contain slashes' } : {}),
  }));
  const named = (place: 'header' | 'query', names: Record<string, string> = {}) =>
    Object.entries(names).map(([name, meaning]) => ({
      name,
      in: place,
      required: false,
      description: meaning,
      schema: { type: 'string' },
    }));
  const parameters = [...inPath, ...named('query', query), ...named('header', headers)];
  const media = answers ?? { 'application/json': { type: 'object' } };
  const content = Object.fromEntries(Object.entries(media).map(([type, schema]) => [type, { schema }]));
  return {
    operationId: operationId(route),
    summary,
    ...(tag === undefined ? {} : { tags: [tag] }),
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    ...(binaryBody === true
      ? { requestBody: { required: true, content: { 'application/octet-stream': { schema: { type: 'string' } } } } }
      : {}),
    responses: {
      [String(status ?? 200)]: { description: 'OK', content },
      default: {
        description: 'An error (docs/errors.md)',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

function operationId(route: string): string {
  const [method, ...words] = route.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return method!.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

const errorTypes = [...new Set(Object.values(ERRORS).map(({ type }): ErrorType => type))];

const errorSchema = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        message: { type: 'string' },
        type: { enum: errorTypes },
        code: { enum: Object.keys(ERRORS) },
        param: { type: 'string' },
        tool_name: { type: 'string' },
        request_id: { type: 'string' },
      },
      required: ['message', 'type', 'code', 'request_id'],
    },
  },
  required: ['error'],
};
