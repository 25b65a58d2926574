/** Returns the prefix of the keys of an app's objects, such as `apps/7/`. */
export function appPrefix(appId: number): string {
  return `apps/${appId}/`
}
