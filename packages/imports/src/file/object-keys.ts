/** Everything that an import keeps in storage begins with this, so that removing it takes one prefix. */
export function importPrefix(appId: number, importId: string): string {
  return `apps/${appId}/imports/${importId}/`
}

export function uploadKey(appId: number, importId: string): string {
  return `${importPrefix(appId, importId)}upload`
}

/** A file for each attempt: a worker that was thought dead cannot write over its successor's. */
export function errorFileKey(appId: number, importId: string, attempt: number): string {
  return `${importPrefix(appId, importId)}errors-${attempt}.csv`
}
