import { appPrefix } from '@sluice/storage'

/** Returns the prefix of the keys of an import's objects, such as `apps/7/imports/b3c8/`. */
export function importPrefix(appId: number, importId: string): string {
  return `${appPrefix(appId)}imports/${importId}/`
}

/** Returns the key of an import's uploaded file: `apps/7/imports/b3c8/upload`. */
export function uploadKey(appId: number, importId: string): string {
  return `${importPrefix(appId, importId)}upload`
}

/** Returns the storage key of an error file. It contains the attempt, so a stale worker overwrites no later file. */
export function errorFileKey(appId: number, importId: string, attempt: number): string {
  return `${importPrefix(appId, importId)}errors-${attempt}.csv`
}

/** Returns the storage key of a changes file. It contains the attempt, as that of an error file does. */
export function changesFileKey(appId: number, importId: string, attempt: number): string {
  return `${importPrefix(appId, importId)}changes-${attempt}.csv.gz`
}
