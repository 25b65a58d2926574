import { type ImportView, importList } from '@sluice/contract'
import { call } from './api-calls.ts'

/** Filters of a list of imports, as the API accepts them. */
export interface ImportFilters {
  state?: string | undefined
  source?: string | undefined
}

/**
 * Reads an app's imports from the API, newest request first, page by page, at most `limit`. Throws `Failure` with the
 * error message of the API.
 */
export async function readImports(
  api: string,
  token: string,
  { state, source }: ImportFilters,
  limit: number,
): Promise<ImportView[]> {
  const imports: ImportView[] = []
  let cursor: string | null = ''
  while (cursor !== null && imports.length < limit) {
    const query = new URLSearchParams({ state: state ?? '', source: source ?? '', limit: '100', cursor })
    const url = `${api}/v3/user_profiles/bulk_import?${query}`
    const response = await call(url, { headers: { 'X-Service-Token': token } })
    const page = importList.parse(await response.json())
    imports.push(...page.imports)
    cursor = page.next_cursor
  }
  return imports.slice(0, limit)
}
