// The routes of turns, which Fastify calls without Nest, because Nest's overhead counts there. Nest creates the controllers
// but does not know these methods. Errors go to the same filter.
import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AppErrorFilter } from '../app-error.filter.js';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
type HandlerDescriptor = TypedPropertyDescriptor<Handler>;

const pathMetadata = 'signalbox:direct-path';

/** `path` is the whole path, without the controller's prefix. */
export const DirectPost =
  (path: string) =>
  (_controller: object, _name: string, descriptor: HandlerDescriptor): void =>
    Reflect.defineMetadata(pathMetadata, path, descriptor.value!);

export function directPathOf(method: object): string | undefined {
  return Reflect.getMetadata(pathMetadata, method) as string | undefined;
}

/** Call it before Nest registers its routes. */
export function registerDirectRoutes(
  fastify: FastifyInstance,
  controllers: readonly Type[],
  instanceOf: (controller: Type) => object,
  filter: Pick<AppErrorFilter, 'answer'>,
): void {
  for (const controller of controllers) {
    for (const name of Object.getOwnPropertyNames(controller.prototype)) {
      const method = (controller.prototype as Record<string, unknown>)[name];
      const path = typeof method === 'function' ? directPathOf(method) : undefined;
      if (path === undefined) continue;
      const instance = instanceOf(controller) as Record<string, Handler>;
      fastify.post(path, (request, reply) => {
        instance[name]!(request, reply).catch((error: unknown) => filter.answer(error, request, reply));
      });
    }
  }
}
