import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { z } from 'zod'

const planSettings = {
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_format': 'json',
  'auto_explain.log_nested_statements': 'on',
}

/** Settings that make Postgres log the plan of every statement, including those of foreign keys and triggers. */
export const logPlans = { shared_preload_libraries: 'auto_explain', ...planSettings }

/**
 * Makes Postgres log the plans of one database, as {@link logPlans} does for a server, for connections that open from
 * now on. Returns the path of the log, where other databases have no plans.
 */
export async function logPlansOf(databaseUrl: string): Promise<string> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const name = client.escapeIdentifier(new URL(databaseUrl).pathname.slice(1))
    for (const [setting, value] of Object.entries({ session_preload_libraries: 'auto_explain', ...planSettings })) {
      await client.query(`alter database ${name} set ${setting} to ${client.escapeLiteral(value)}`)
    }
    const { rows } = await client.query<{ data_directory: string }>('show data_directory')
    return `${rows[0]?.data_directory}.log`
  } finally {
    await client.end()
  }
}

/** A step of a plan, with the fields that the tests read. */
interface Node {
  'Node Type': string
  'Relation Name'?: string | undefined
  Plans?: Node[] | undefined
}

const node: z.ZodType<Node> = z.looseObject({
  'Node Type': z.string(),
  'Relation Name': z.string().optional(),
  Plans: z.lazy(() => z.array(node)).optional(),
})
const logged = z.object({ 'Query Text': z.string(), Plan: node })

export interface LoggedStatement {
  text: string
  plan: Node
}

export async function readPlans(logFile: string): Promise<LoggedStatement[]> {
  const log = await readFile(logFile, 'utf8')
  return [...log.matchAll(/ms {2}plan:\n((?:\t.*\n)+)/g)].map(([, json = '']) => {
    const { 'Query Text': text, Plan: plan } = logged.parse(JSON.parse(json))
    return { text: text.replaceAll(/\s+/g, ' ').trim(), plan }
  })
}

/** Returns the tables that a statement reads without naming the app; `keyed` are the tables that have an `app_id`. */
export function tablesReadAcrossApps({ plan }: LoggedStatement, keyed: ReadonlySet<string>): string[] {
  const table = plan['Relation Name']
  const isScan = plan['Node Type'].endsWith('Scan')
  const crosses = isScan && table !== undefined && keyed.has(table) && !conditionsOf(plan).includes('app_id')
  const below = (plan.Plans ?? []).flatMap((child) => tablesReadAcrossApps({ text: '', plan: child }, keyed))
  return crosses ? [table, ...below] : below
}

/** Returns the conditions of a scan. For a bitmap scan, includes the conditions of the index scans below it. */
function conditionsOf(scan: Node): string {
  const own = Object.entries(scan).flatMap(([name, value]) => (/Cond$|^Filter$/.test(name) ? [String(value)] : []))
  const ofIndexes = (scan.Plans ?? []).filter((child) => /^Bitmap/.test(child['Node Type'])).map(conditionsOf)
  return [...own, ...ofIndexes].join(' ')
}

/** Returns the numbers of the partitions that a statement reads or writes, by table (see partitioned-tables.ts). */
export function partsRead({ plan }: LoggedStatement): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  const visit = (step: Node) => {
    const [, table, part] = /^(.*)_part_(\d+)$/.exec(step['Relation Name'] ?? '') ?? []
    if (table !== undefined && part !== undefined) found.set(table, (found.get(table) ?? new Set()).add(part))
    for (const child of step.Plans ?? []) visit(child)
  }
  visit(plan)
  return found
}
