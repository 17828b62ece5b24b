// For members of what JSON.parse has made: nothing but JSON can be in them, so nobody need walk through it.
import { z } from 'zod';
import { isJsonObject, type JsonObject } from './json.js';

export const parsedJsonObject = z.custom<JsonObject>(isJsonObject, 'Invalid input: expected object');
