// Builds the OpenAPI 3.1 document from the routes of the controllers. Pure.
import 'reflect-metadata';
import { STATUS_CODES } from 'node:http';
import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { z } from 'zod';
import { directPathOf } from '../turns/direct-routes.js';
import { auditEvent, chatChunk, chatEvent, error } from './open-api-events.js';
import type { Content, DescribedOperation } from './described-operation.js';
import { simulationEvent } from './policy-shapes.js';
import { describedOperations } from './open-api-operations.js';

export interface OpenApiDocument {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string };
  paths: Record<string, Record<string, object>>;
  components: { schemas: Record<string, object> };
}

export function routesOf(controllers: readonly Type[]): string[] {
  return controllers.flatMap((controller) => {
    const prefixes = [Reflect.getMetadata(PATH_METADATA, controller) as string | string[]].flat();
    const prototype = controller.prototype as Record<string, unknown>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = Object.getOwnPropertyDescriptor(prototype, name)?.value as object | undefined;
      if (typeof handler !== 'function') return [];
      const direct = directPathOf(handler);
      if (direct !== undefined) return [`POST ${openApiPath(direct)}`];
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
  const shapes = new Shapes();
  // Descriptions of streams refer to these shapes by name.
  for (const event of [chatChunk, chatEvent, simulationEvent, auditEvent]) shapes.of(event);
  const paths: OpenApiDocument['paths'] = {};
  for (const route of [...routes].sort((left, right) => left.localeCompare(right))) {
    const [method, path] = route.split(' ') as [string, string];
    (paths[path] ??= {})[method.toLowerCase()] = operationOf(route, path, shapes);
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Signalbox',
      version: 'v1',
      description: 'A self-hosted chat gateway that runs tools for any OpenAI client.',
    },
    paths,
    components: { schemas: shapes.named },
  };
  return JSON.parse(JSON.stringify(document).replaceAll('"#/$defs/', '"#/components/schemas/')) as OpenApiDocument;
}

class Shapes {
  named: Record<string, object> = {};

  of(schema: z.ZodType): object {
    const {
      $schema: _,
      $defs,
      ...shape
    } = z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
      override: ({ jsonSchema }) => {
        // Drop the bounds that every whole number has, and the empty member list of open objects.
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
        if (Object.keys(jsonSchema.properties ?? { some: true }).length === 0) delete jsonSchema.properties;
      },
    });
    Object.assign(this.named, $defs);
    return shape;
  }
}

function operationOf(route: string, path: string, shapes: Shapes): object {
  const described = describedOperations[route];
  const responses = Object.entries({
    ...described?.answers,
    default: { 'application/json': described?.errors ?? error },
  });
  return {
    operationId: operationId(route),
    summary: described?.summary ?? route,
    tags: described && [tagOf(path)],
    description: described?.description,
    parameters: described && parametersOf(path, described, shapes),
    requestBody: described && bodyOf(described, shapes),
    responses: Object.fromEntries(responses.map(([status, content]) => [status, answerOf(status, content, shapes)])),
  };
}

const otherTags = new Map([
  ...['messages', 'responses'].map((part) => [part, 'chat'] as const),
  ...['servers', 'mcp', 'sse'].map((part) => [part, 'tools'] as const),
  ...['health', 'metrics'].map((part) => [part, 'operations'] as const),
  ['usage', 'keys'],
]);

/** The first part of the path, which is the tag of most routes. */
function tagOf(path: string): string {
  const [, part = ''] = /^\/(?:api\/|v1\/)?(\w+)/.exec(path) ?? [];
  return otherTags.get(part) ?? part;
}

function parametersOf(path: string, { query = {}, headers = {} }: DescribedOperation, shapes: Shapes) {
  const schema = { type: 'string' };
  const parameters = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: 'path',
      required: true,
      schema,
      description: name === 'path' ? 'May contain slashes' : undefined,
    })),
    ...Object.entries(query).map(([name, given]) => ({ name, in: 'query', required: false, schema: shapes.of(given) })),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema,
    })),
  ];
  return parameters.length === 0 ? undefined : parameters;
}

function bodyOf({ body, bodyOptional = false, bodyType = 'application/json' }: DescribedOperation, shapes: Shapes) {
  return body && { required: !bodyOptional, content: { [bodyType]: { schema: shapes.of(body) } } };
}

function answerOf(status: string, content: Content, shapes: Shapes): object {
  const media = Object.entries(content).map(([type, schema]) => [type, { schema: shapes.of(schema) }]);
  return {
    description: STATUS_CODES[status] ?? 'An error (docs/errors.md)',
    content: media.length === 0 ? undefined : (Object.fromEntries(media) as object),
  };
}

function operationId(route: string): string {
  const [method, ...words] = route.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return method!.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}
