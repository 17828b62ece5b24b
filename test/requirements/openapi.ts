export const openapiRequirements = {
  'openapi.tools': 'each operation of an OpenAPI document is a tool, with its parameters and its body as arguments',
  'openapi.versions':
    'documents of OpenAPI 3.0, 3.1, 3.2 and Swagger 2 are read, as JSON and YAML, and others say what is wrong',
  'openapi.schemas':
    'the schema of a tool of an API stands alone within the limits, and has no default that an update would send',
  'openapi.requests': 'arguments arrive in path, query, headers, cookies and body as the document says',
  'openapi.files':
    'files are sent from the workspace of the session or a data: URL, and those of answers are saved there',
  'openapi.answers':
    'an answer of an API is text, structure, a picture or a file, and an error of HTTP one of the tool',
  'openapi.pages':
    'the description of a tool says which arguments choose a page, and a result that there is a next one',
  'openapi.contained': 'requests go below the configured address: no argument, document or redirect leads elsewhere',
  'openapi.credentials': 'requests have the credentials of their user, and a refused token is renewed once',
  'openapi.credentials-told':
    'doctor tells which operations need credentials by their document that requests do not carry',
  'openapi.left-out': 'GET /api/servers has the operations that are left out, with the reasons',
  'openapi.secrets': 'no result of an API shows a secret that was sent to it',
  'openapi.bounded': 'a call of an API ends at its limits of size and time, and when it is cancelled',
  'openapi.documents': 'a changed document is applied while the worker runs, and a wrong one is named',
  'openapi.checked': 'config check and doctor say what an API offers, and what is wrong with its document',
} as const;
