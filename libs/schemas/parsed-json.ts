// For values from JSON.parse: they can only be JSON, so they need no validation.
import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from './json.js';

export const parsedJsonObject = z.custom<JsonObject>(isJsonObject, 'Invalid input: expected object');
export const parsedJson = z.custom<Json>((value) => value !== undefined, 'Invalid input: expected a value');
