// The start of the API's path below a base address, which may include the version or not.

/** '' if the address includes a version: `…/v1`, `…/v1beta`, `…/v1/projects/p/…/publishers/google`. */
export function versionPath(baseUrl: string | undefined, version: string): string {
  if (baseUrl === undefined) return version;
  return /\/v\d+(?:(?:alpha|beta)\d*)?(?:\/projects\/.+)?\/?$/.test(new URL(baseUrl).pathname) ? '' : version;
}
