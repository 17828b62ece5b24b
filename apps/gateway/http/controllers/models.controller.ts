// Lists the models and aliases that a caller may use.
import { Controller, Get, Inject, Param, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { allowsModel } from '#libs/access/access.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ModelRouter } from '../../models/model-provider.js';
import { MODEL_ROUTER } from '../injection-tokens.js';
import type { model as modelShape, Shown } from '../openapi/open-api-shapes.js';
import { requestContext } from '../request-context.js';

type ShownModel = Shown<typeof modelShape>;

@Controller('v1/models')
export class ModelsController {
  constructor(@Inject(MODEL_ROUTER) private readonly models: ModelRouter) {}

  @Get()
  async list(@Req() request: FastifyRequest): Promise<{ object: 'list'; data: ShownModel[] }> {
    const models = await this.allowed(request);
    return { object: 'list', data: models.map((model) => show(model)) };
  }

  /** A wildcard, because names contain slashes. */
  @Get('*')
  async one(@Req() request: FastifyRequest, @Param('*') id: string): Promise<ShownModel> {
    const models = await this.allowed(request);
    const model = models.find((each) => each.id === id);
    if (model === undefined)
      throw new AppError('model_not_found', `Model '${id.slice(0, 256)}' not found`, { param: 'model' });
    return show(model);
  }

  private async allowed(request: FastifyRequest) {
    const { signal, access } = requestContext(request);
    return (await this.models.list(signal)).filter(({ id }) => allowsModel(access, id));
  }
}

const show = (model: { id: string; owned_by: string }): ShownModel => ({
  id: model.id,
  object: 'model',
  created: 0,
  owned_by: model.owned_by,
});
