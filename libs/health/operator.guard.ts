// The guard of operator routes (see operator-access.ts).
import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { OperatorAccess, operatorRequest } from './operator-access.js';

@Injectable()
export class OperatorGuard implements CanActivate {
  constructor(@Inject(OperatorAccess) private readonly access: OperatorAccess) {}

  canActivate(context: ExecutionContext): boolean {
    this.access.admit(operatorRequest(context.switchToHttp().getRequest<FastifyRequest>().raw));
    return true;
  }
}
