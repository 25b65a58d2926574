import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from '@sluice/database'
import { until } from '../../../environment/wait.ts'
import { statusOf, upload } from '../../../stack/client.ts'
import type { RunningStack } from '../../../stack/running-stack.ts'
import { type Attack, type AttackContext, atMost } from '../attack.ts'
import {
  attackWith,
  bomb,
  countStatuses,
  pauseFor,
  secondsToEnd,
  signIn,
  unfinishedImports,
  uploadBomb,
} from '../attackers.ts'

/** Makes a file of 64 KB that decompresses to 63 rows of a million empty cells. */
export const commaBomb = () => bomb('user_id,zzz\n', `u${','.repeat(1_048_499)}\n`, 63)

const v2 = '/v2/user_profiles/bulk_import'
const gzip = { 'Content-Type': 'application/gzip' }

/** Attacks with files that cause far more work or log output than their size suggests. */
export const fileAttacks: Attack[] = [
  {
    title: '63 rows of a million commas, four times by v2 and once by v3',
    inSample: true,
    async attack(context) {
      const { urls, signal, isShort } = context
      const file = await commaBomb()
      const { token } = await context.openAttacker()
      const sending = Array.from({ length: isShort ? 1 : 4 }, () =>
        attackWith(signal, `${urls.api}${v2}`, 'POST', { ...gzip, 'X-Service-Token': token }, file),
      )
      const other = await context.openAttacker()
      const importing = secondsToEnd(context, other.token, await uploadBomb(context, other.token, file))
      const answers = await Promise.all(sending)
      return {
        'bytes sent': file.length,
        'v2, s': Math.max(...answers.map(({ seconds }) => seconds)),
        'import, s': await importing,
        ...countStatuses(answers),
      }
    },
    expect: (figures, { isShort }) => [
      ...atMost(figures, 'status 0', 0).filter(() => figures['status 0'] !== undefined),
      ...(isShort ? [] : [...atMost(figures, 'v2, s', 30), ...atMost(figures, 'import, s', 30)]),
    ],
  },
  {
    title: '25,908 empty columns and 3,000,000 rows of one letter',
    inSample: true,
    async attack(context) {
      const { stack, isShort } = context
      const names = Array.from({ length: 25_908 }, (_, index) => index.toString(36).padStart(3, '_'))
      const header = `user_id,${names
        .join(',')
        .slice(0, 102_000 - 8)
        .replace(/,[^,]*$/, '')}\n`
      const file = await bomb(header, 'u\n', isShort ? 5_000 : 3_000_000)
      const narrow = isShort ? 1 : await rowsPerSecond(context, await bomb('user_id,a\n', 'u\n', 500_000), 30_000)
      const before = await walPosition(stack)
      const wide = await rowsPerSecond(context, file, 40_000)
      return {
        'bytes sent': file.length,
        'rows per s': Math.round(wide),
        'times slower than a narrow file': Math.round(narrow / Math.max(wide, 1)),
        'WAL, MB': Math.round(((await walPosition(stack)) - before) / 1e6),
      }
    },
    expect: (figures) => [
      // The limit includes what the neighbour writes.
      ...atMost(figures, 'WAL, MB', 100),
      ...atMost(figures, 'times slower than a narrow file', 5),
    ],
  },
  {
    title: 'headers of 100 KB by three routes are not logged',
    inSample: true,
    async attack(context) {
      const { stack, urls } = context
      const { appId, token, email } = await context.openAttacker()
      const before = await logSizes(stack)
      const headers = { 'Content-Type': 'text/csv', 'X-Service-Token': token }
      for (const names of largeHeaders()) {
        const file = Buffer.from(`user_id,${names.join(',')}\nu1\n`)
        await secondsToEnd(context, token, await upload(urls.api, token, file))
        await attackWith(context.signal, `${urls.api}${v2}`, 'POST', headers, file)
      }
      const file = Buffer.from(`user_id,${largeHeaders()[0]?.join(',')}\nu1\n`)
      const visitor = await signIn(context, email)
      await visitor.postFile(`/apps/${appId}/data-import`, 'a.csv', new Blob([file]))
      await until('the end of all imports', async () => (await unfinishedImports(stack, appId)) === 0)
      return { 'longest log line, KB': Math.round((await longestLine(stack, before)) / 1e3) }
    },
    expect: (figures) => atMost(figures, 'longest log line, KB', 9),
  },
  {
    title: 'a file with an opening quote in every record is read as fast as a plain file',
    longestMs: 300_000,
    async attack(context) {
      const size = 6 * 2 ** 20
      const plain = await timeOf(context, await bomb('user_id,a\n', 'x,y\n', size / 4))
      const quotes = await timeOf(context, await bomb('user_id,a\n', '"x\n', size / 3))
      return { 'plain, s': plain, 'quotes, s': quotes, ratio: Math.round((10 * quotes) / Math.max(plain, 0.1)) / 10 }
    },
    expect: (figures) => atMost(figures, 'ratio', 5),
  },
]

async function timeOf(context: AttackContext, file: Buffer): Promise<number> {
  const { token } = await context.openAttacker()
  return await secondsToEnd(context, token, await uploadBomb(context, token, file))
}

/** Returns headers of 100 KB that are refused. The error messages may repeat the column names. */
function largeHeaders(): string[][] {
  const named = (count: number, length: number, prefix = '') =>
    Array.from({ length: count }, (_, index) => `${prefix}${`${index}`.padStart(length, 'n')}`)
  return [
    // Messages name at most ten columns.
    [...named(10, 5_000), ...named(10, 5_000)],
    [...named(200, 250), ...named(200, 250)],
    named(10, 10_000, '$'),
    ['n'.repeat(100_000)],
  ]
}

/** Imports a file until it ends, or for at most `longestMs`. Returns the rows per second. */
async function rowsPerSecond(context: AttackContext, file: Buffer, longestMs: number): Promise<number> {
  const { token } = await context.openAttacker()
  const importId = await uploadBomb(context, token, file)
  const tooLong = pauseFor(context.signal, longestMs).then(() => longestMs / 1000)
  const seconds = await Promise.race([secondsToEnd(context, token, importId), tooLong])
  const { rows_total: rows } = await statusOf(context.urls.api, token, importId)
  return rows / Math.max(seconds, 0.1)
}

/** Returns the number of bytes of WAL that Postgres has written since its creation. */
async function walPosition({ db }: RunningStack): Promise<number> {
  const { rows } = await sql<{ at: string }>`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as at`.execute(
    db,
  )
  return Number(rows[0]?.at)
}

/** Returns the current size of each log file, bytes, by path. */
async function logSizes({ home }: RunningStack): Promise<Map<string, number>> {
  const folder = join(home, 'logs')
  const paths = (await readdir(folder)).map((name) => join(folder, name))
  return new Map(await Promise.all(paths.map(async (path) => [path, (await stat(path)).size] as const)))
}

/** Returns the length of the longest line that was logged since the logs had the sizes `before`, bytes. */
async function longestLine(stack: RunningStack, before: ReadonlyMap<string, number>): Promise<number> {
  const logs = await Promise.all(
    [...(await logSizes(stack)).keys()].map(async (path) => (await readFile(path)).subarray(before.get(path) ?? 0)),
  )
  return Math.max(...logs.flatMap((log) => log.toString('latin1').split('\n')).map((line) => line.length))
}
