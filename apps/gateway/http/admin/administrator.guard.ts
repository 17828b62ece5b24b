// Admits administrators: a key or token with the scope `admin`; while keys are not in use, callers on this machine only.
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { OperatorAccess, operatorRequest } from '#libs/health/operator-access.js';
import { AppError } from '#libs/schemas/errors.js';
import { requestContext } from '../request-context.js';

@Injectable()
export class AdministratorGuard implements CanActivate {
  /** METRICS_TOKEN does not permit managing keys. */
  private readonly sameMachine = new OperatorAccess(undefined);

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { access } = requestContext(request);
    if (access === undefined) this.sameMachine.admit(operatorRequest(request.raw));
    else if (!access.scopes.includes('admin')) {
      throw new AppError('insufficient_scope', 'This requires the scope admin');
    }
    return true;
  }
}
