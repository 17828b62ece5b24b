// For values from JSON.parse: they can only be JSON, so they need no validation.
import { z } from 'zod';
import { isJsonObject, type JsonObject } from './json.js';

export const parsedJsonObject = z.custom<JsonObject>(isJsonObject, 'Invalid input: expected object');
