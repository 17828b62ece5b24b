// Every controller of the gateway, found by its file's name, for what has to know all routes without starting anything.
import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Type } from '@nestjs/common';
import { HealthController } from '#libs/health/health.controller.js';
import { MetricsController } from '#libs/metrics/metrics.controller.js';

export async function gatewayControllers(): Promise<Type[]> {
  const folder = new URL('../apps/gateway/http/', import.meta.url);
  const entries = readdirSync(fileURLToPath(folder), { recursive: true, encoding: 'utf8' });
  const files = entries.filter((file) => /\.controller\.[jt]s$/.test(file)).map((file) => file.replaceAll(sep, '/'));
  const modules = await Promise.all(
    files.map((file) => import(/* @vite-ignore */ new URL(file, folder).href) as Promise<Record<string, unknown>>),
  );
  const classes = modules.flatMap((module) => Object.values(module)).filter((value) => typeof value === 'function');
  const own = (classes as Type[]).filter((value) => Reflect.hasMetadata('path', value));
  return [...own, HealthController, MetricsController];
}
