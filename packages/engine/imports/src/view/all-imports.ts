import { type ImportSource, type ImportState, importSources, isImportState, isUuid } from '@sluice/contract'
import {
  type Database,
  followsPosition,
  formatPosition,
  type ListPosition,
  microsecondsOf,
  parseFilterTime,
  parsePosition,
  type RawBuilder,
  sql,
} from '@sluice/database'
import type { ImportDetails } from './details.ts'
import { type ImportSummary, millisecondsTaken, secondsTaken, selectSummaries, toSummary } from './view.ts'

/** Which imports to list. Each filter that is set narrows the list, and has an index. */
export interface ImportFilter {
  appId?: number | undefined
  state?: ImportState | undefined
  source?: ImportSource | undefined
  /** A part of the file's name in any case, at least {@link shortestText} characters, or an import's ID. */
  text?: string | undefined
  /** Only imports with rows with errors. */
  hasErrors?: boolean | undefined
  /** Only dry runs, or none. */
  isDryRun?: boolean | undefined
  /** Only imports that ended within the last 24 hours. */
  endedLately?: boolean | undefined
  /** Earliest and latest time of the request; the latest is excluded. */
  since?: Date | undefined
  until?: Date | undefined
}

/** An import in a list. */
export interface FoundImport extends Pick<ImportDetails, 'contentType' | 'objectKey' | 'byteSize' | 'position'> {
  appId: number
  appName: string
  view: ImportSummary
  /** Who asked for it: the address of a person, or the name of a token or key; null if nobody knows. */
  requestedBy: string | null
  /** Place among the unfinished imports of its import order, 1 for the first; null if the import has ended. */
  place: number | null
  /** The error of the file, otherwise the commonest error of its rows; null if it has none. */
  commonestError: string | null
  /** As in `ImportDetails`. */
  tookMs: number | null
}

/** A page of imports, newest request first. */
export interface FoundImports {
  imports: FoundImport[]
  /** The position of the next page; undefined if there is none. */
  next: string | undefined
}

/** Minimum number of characters of a text to search for. A shorter text has no trigram, so no index can find it. */
export const shortestText = 3

/** The place of an import in the list: when it was requested, and its order among requests of the same time. */
interface Place {
  app_id: number
  import_id: string
  requested_at_us: string
  sequence_number: number
}

/**
 * Lists a page of imports, of one app or of all apps (second-day.md §6, All imports): at most `limit`, after the
 * position `after` of an earlier page. The work depends on the page, not on the number of imports.
 *
 * Accepts the URL that links to error files begin with. An invalid position, or a text that is too short, finds
 * nothing.
 */
export async function findImports(
  db: Database,
  apiUrl: string | undefined,
  filter: ImportFilter,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<FoundImports> {
  const position = after === undefined ? undefined : parsePosition(after)
  if (after !== undefined && position === undefined) return { imports: [], next: undefined }
  if (filter.text !== undefined && filter.text.length < shortestText) return { imports: [], next: undefined }
  const places = await findPlaces(db, filter, position, limit + 1)
  const shown = places.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = places.length > limit && last !== undefined
  const next = hasMore ? formatPosition({ atUs: last.requested_at_us, number: last.sequence_number }) : undefined
  return { imports: await readImports(db, apiUrl, shown), next }
}

/**
 * If a text has more matches than this, a walk along the list finds a page of them soon. Fewer matches are all read and
 * sorted.
 */
const sortedMatches = 1_000

/**
 * Finds the places of a page. A search by text first reads matches by the index of file names. The planner does not
 * know how often a text occurs, and might walk along the list. For a rare text, the walk would read all imports.
 */
async function findPlaces(
  db: Database,
  filter: ImportFilter,
  position: ListPosition | undefined,
  limit: number,
): Promise<Place[]> {
  const conditions = [
    ...conditionsOf(filter),
    ...(position === undefined ? [] : [followsPosition(sql`i.requested_at`, sql`i.sequence_number`, position)]),
  ]
  const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`
  const columns = sql`app_id, import_id, ${microsecondsOf(sql`requested_at`)} as requested_at_us, sequence_number`
  const order = sql`order by i.requested_at desc, i.sequence_number desc`
  if (filter.text !== undefined) {
    const { rows } = await sql<Place>`
      with matching as materialized (select * from imports i ${where} limit ${sortedMatches + 1})
      select ${columns} from matching i ${order}
    `.execute(db)
    if (rows.length <= sortedMatches) return rows.slice(0, limit)
  }
  return (await sql<Place>`select ${columns} from imports i ${where} ${order} limit ${limit}`.execute(db)).rows
}

function conditionsOf(filter: ImportFilter): RawBuilder<unknown>[] {
  const { appId, state, source, text, hasErrors, isDryRun, endedLately, since, until } = filter
  return [
    ...(appId === undefined ? [] : [sql`i.app_id = ${appId}`]),
    ...(state === undefined ? [] : [sql`i.state = ${state}`]),
    ...(source === undefined ? [] : [sql`i.source = ${source}`]),
    ...(text === undefined ? [] : [textCondition(text)]),
    ...(hasErrors ? [sql`i.has_errors`] : []),
    ...(isDryRun === undefined ? [] : [isDryRun ? sql`i.dry_run` : sql`not i.dry_run`]),
    ...(endedLately ? [sql`i.finished_at > now() - interval '24 hours'`] : []),
    ...(since === undefined ? [] : [sql`i.requested_at >= ${since}`]),
    ...(until === undefined ? [] : [sql`i.requested_at < ${until}`]),
  ]
}

/**
 * The text is an import's whole ID, or a part of the file's name. Eight hexadecimal digits may also be the beginning of
 * an ID, as pages show it.
 */
function textCondition(text: string): RawBuilder<unknown> {
  const name = sql`i.file_name ilike ${`%${text.replaceAll(/[\\%_]/g, '\\$&')}%`}`
  if (isUuid(text)) return sql`i.import_id = ${text}::uuid`
  if (!/^[0-9a-f]{8}$/i.test(text)) return name
  const [first, last] = [`${text}-0000-0000-0000-000000000000`, `${text}-ffff-ffff-ffff-ffffffffffff`]
  return sql`(${name} or i.import_id between ${first}::uuid and ${last}::uuid)`
}

const commonestError = sql<string | null>`
  coalesce(error, (select key from jsonb_each(error_counts) order by value::bigint desc, key limit 1))`

async function readImports(db: Database, apiUrl: string | undefined, found: readonly Place[]): Promise<FoundImport[]> {
  const ids = found.map((place) => place.import_id)
  const apps = [...new Set(found.map((place) => place.app_id))]
  const rows = await selectSummaries(db)
    .innerJoin('apps', 'apps.app_id', 'imports.app_id')
    .select(['imports.app_id', 'apps.name', 'requested_by', 'content_type', 'object_key', 'position'])
    .select(({ fn }) => fn.coalesce('stored_size', 'byte_size').as('bytes'))
    .select(secondsTaken.as('seconds'))
    .select(commonestError.as('commonest_error'))
    .where(sql<boolean>`imports.app_id = any(${apps}::integer[]) and import_id = any(${ids}::uuid[])`)
    .execute()
  const places = rows.some((row) => row.finished_at === null) ? await placesInOrder(db, apps, ids) : new Map()
  const byId = new Map(rows.map((row) => [row.import_id, row]))
  return ids.flatMap((id) => {
    const row = byId.get(id)
    if (row === undefined) return []
    return [
      {
        appId: row.app_id,
        appName: row.name,
        view: toSummary(row, apiUrl),
        requestedBy: row.requested_by,
        place: places.get(id) ?? null,
        tookMs: millisecondsTaken(row),
        commonestError: row.commonest_error,
        contentType: row.content_type,
        objectKey: row.object_key,
        byteSize: row.bytes,
        position: row.position,
      },
    ]
  })
}

/** Returns the places of unfinished imports by ID, as `import_places` of the schema defines them. */
async function placesInOrder(
  db: Database,
  apps: readonly number[],
  ids: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await sql<{ import_id: string; place: number }>`
    select import_id, place from import_places
    where app_id = any(${apps}::integer[]) and import_id = any(${ids}::uuid[])
  `.execute(db)
  return new Map(rows.map((row) => [row.import_id, row.place]))
}

/** Values of filters as text, from a form, an address or the command line. */
export type FilterTexts = Partial<
  Record<'app' | 'state' | 'source' | 'text' | 'errors' | 'dry' | 'ended' | 'since' | 'until', string | undefined>
>

/** Parses filters. Empty texts set no filter. Returns the name of the first filter that is not valid instead. */
export function parseImportFilter(texts: FilterTexts): ImportFilter | { invalid: keyof FilterTexts } {
  const { app = '', state = '', source = '', text = '', ended = '', since = '', until = '' } = texts
  const { errors = '', dry = '' } = texts
  if (app !== '' && !/^[1-9]\d{0,8}$/.test(app)) return { invalid: 'app' }
  if (state !== '' && !isImportState(state)) return { invalid: 'state' }
  const knownSource = importSources.find((each) => each === source)
  if (source !== '' && knownSource === undefined) return { invalid: 'source' }
  if (text !== '' && text.length < shortestText) return { invalid: 'text' }
  if (!['', 'some'].includes(errors)) return { invalid: 'errors' }
  if (!['', 'only', 'none'].includes(dry)) return { invalid: 'dry' }
  if (ended !== '' && ended !== '24h') return { invalid: 'ended' }
  const times = { since: parseFilterTime(since), until: parseFilterTime(until) }
  if (times.since === null) return { invalid: 'since' }
  if (times.until === null) return { invalid: 'until' }
  return {
    appId: app === '' ? undefined : Number(app),
    state: isImportState(state) ? state : undefined,
    source: knownSource,
    text: text === '' ? undefined : text,
    hasErrors: errors !== '',
    isDryRun: dry === '' ? undefined : dry === 'only',
    endedLately: ended !== '',
    since: times.since,
    until: times.until,
  }
}
