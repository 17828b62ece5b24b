// The pipe of a route whose body a class describes: unknown members are refused, values are as the class says.
import { type Type, ValidationPipe } from '@nestjs/common';

export const validatedBody = (expectedType: Type): ValidationPipe =>
  new ValidationPipe({ expectedType, transform: true, whitelist: true, forbidNonWhitelisted: true });
