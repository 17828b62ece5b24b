// Where the API begins below a base address, which may be written with its version or without.

/** '' when the address has a version already: `…/v1`, `…/v1beta`, `…/v1/projects/p/…/publishers/google`. */
export function versionPath(baseUrl: string | undefined, version: string): string {
  if (baseUrl === undefined) return version;
  return /\/v\d+(?:(?:alpha|beta)\d*)?(?:\/projects\/.+)?\/?$/.test(new URL(baseUrl).pathname) ? '' : version;
}
