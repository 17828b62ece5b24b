// Every controller of the gateway, found by its file's name, for what has to know all routes without starting anything.
import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Type } from '@nestjs/common';
import { HealthController } from '#libs/health/health.controller.js';
import { MetricsController } from '#libs/metrics/metrics.controller.js';

export async function gatewayControllers(): Promise<Type[]> {
  const folder = new URL('../apps/gateway/http/', import.meta.url);
  const files = ['', 'admin/'].flatMap((inner) =>
    readdirSync(fileURLToPath(new URL(`./${inner}`, folder)))
      .filter((file) => /\.controller\.[jt]s$/.test(file))
      .map((file) => inner + file),
  );
  const modules = await Promise.all(
    files.map((file) => import(/* @vite-ignore */ new URL(file, folder).href) as Promise<Record<string, unknown>>),
  );
  const classes = modules.flatMap((module) => Object.values(module)).filter((value) => typeof value === 'function');
  const own = (classes as Type[]).filter((value) => Reflect.hasMetadata('path', value));
  return [...own, HealthController, MetricsController];
}
