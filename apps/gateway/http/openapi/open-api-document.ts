// Builds the OpenAPI 3.1 document from the routes of the controllers. Pure.
import 'reflect-metadata';
import { STATUS_CODES } from 'node:http';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { directPathOf } from '../turns/direct-routes.js';
import type { Content, DescribedOperation } from './described-operation.js';
import { namedShapes } from './open-api-named-shapes.js';
import { describedOperations } from './open-api-operations.js';

export interface OpenApiDocument {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string };
  paths: Record<string, Record<string, object>>;
  components: { schemas: Record<string, object> };
}

/** All routes of the controllers, as `GET /api/runs/{id}`. */
export function routesOf(controllers: readonly Type[]): string[] {
  return controllers.flatMap((controller) => {
    const prefixes = [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat();
    const prototype = controller.prototype as Record<string, unknown>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = Object.getOwnPropertyDescriptor(prototype, name)?.value as object | undefined;
      if (typeof handler !== 'function') return [];
      const direct = directPathOf(handler);
      if (direct !== undefined) return [`POST ${direct}`];
      const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
      if (method === undefined) return [];
      const paths = [Reflect.getMetadata(PATH_METADATA, handler) as string | string[]].flat();
      return prefixes.flatMap((prefix) => paths.map((path) => `${RequestMethod[method]} ${openApiPath(prefix, path)}`));
    });
  });
}

/** `:id` becomes `{id}`; a wildcard (`*`, `*path`, `{*path}`) becomes `{path}`, which may contain slashes. */
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
    components: { schemas: namedShapes },
  };
}

function operationOf(route: string, path: string, described: DescribedOperation | undefined): object {
  const { summary = route, tag, description, answers = {}, errors = 'Error' } = described ?? {};
  const parameters = described === undefined ? [] : parametersOf(path, described);
  const body = described === undefined ? undefined : bodyOf(described);
  return {
    operationId: operationId(route),
    summary,
    ...(tag === undefined ? {} : { tags: [tag] }),
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, content]) => [status, answerOf(status, content)])),
      default: answerOf('An error (docs/errors.md)', {
        'application/json': { $ref: `#/components/schemas/${errors}` },
      }),
    },
  };
}

function parametersOf(path: string, { query = {}, headers = {} }: DescribedOperation): object[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    ...(name === 'path' ? { description: 'May contain slashes' } : {}),
  }));
  return [
    ...inPath,
    ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', required: false, schema })),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ];
}

function bodyOf({ body, bodyOptional = false, binaryBody = false }: DescribedOperation): object | undefined {
  if (binaryBody) {
    return { required: true, content: { '*/*': { schema: { type: 'string', format: 'binary' } } } };
  }
  return body === undefined
    ? undefined
    : { required: !bodyOptional, content: { 'application/json': { schema: body } } };
}

function answerOf(statusOrText: string, content: Content): object {
  const media = Object.entries(content).map(([type, schema]) => [type, { schema }]);
  return {
    description: STATUS_CODES[statusOrText] ?? statusOrText,
    ...(media.length === 0 ? {} : { content: Object.fromEntries(media) as object }),
  };
}

function operationId(route: string): string {
  const [method, ...words] = route.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return method!.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}
