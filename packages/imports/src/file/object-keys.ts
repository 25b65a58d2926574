/** Returns the prefix of all objects of an import, so that one removal of the prefix removes them. */
export function importPrefix(appId: number, importId: string): string {
  return `apps/${appId}/imports/${importId}/`
}

export function uploadKey(appId: number, importId: string): string {
  return `${importPrefix(appId, importId)}upload`
}

/** Returns a key for each attempt, so that a worker which lost its claim cannot overwrite its successor's file. */
export function errorFileKey(appId: number, importId: string, attempt: number): string {
  return `${importPrefix(appId, importId)}errors-${attempt}.csv`
}
