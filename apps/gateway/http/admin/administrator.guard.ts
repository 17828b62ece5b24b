// Admits administrators: a key or token with the scope `admin`; while keys are not in use, callers on this machine only.
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { OperatorAccess, operatorRequest } from '#libs/health/operator-access.js';
import { AppError } from '#libs/schemas/errors.js';
import { requestContext } from '../request-context.js';

/** METRICS_TOKEN does not permit managing keys. */
const sameMachine = new OperatorAccess(undefined);

/** @throws AppError insufficient_scope */
function requireAdministrator(request: FastifyRequest): void {
  const { access } = requestContext(request);
  if (access === undefined) sameMachine.admit(operatorRequest(request.raw));
  else if (!access.scopes.includes('admin')) throw new AppError('insufficient_scope', 'This requires the scope admin');
}

export function isAdministrator(request: FastifyRequest): boolean {
  try {
    requireAdministrator(request);
    return true;
  } catch {
    return false;
  }
}

@Injectable()
export class AdministratorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    requireAdministrator(context.switchToHttp().getRequest<FastifyRequest>());
    return true;
  }
}
