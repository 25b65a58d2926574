import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { to } from 'pg-copy-streams'
import { type App, openApp } from '../../stack/client.ts'
import { startStack } from '../../stack/running-stack.ts'
import { type BenchKey, exportBySluice, fill, keys } from './export.ts'
import { connectTo } from './import/postgres.ts'
import { median } from './statistics.ts'
import { printTargets } from './targets.ts'

/** Numbers of keys, each with a number of users that makes a file of about 100 MB before compression. */
const widths = [
  { columns: 9, users: 700_000 },
  { columns: 200, users: 32_000 },
  { columns: 500, users: 13_000 },
] as const

/**
 * Compares exports of narrow and wide profiles to a bare `copy (select …) to stdout` of the same bytes, without
 * compression and storage: `[--rounds N]`. Returns whether the targets are met.
 */
export async function benchExportWidths(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({ args: [...args], options: { rounds: { type: 'string', default: '3' } } })
  const stack = await startStack({ env: { RATE_LIMIT_EXPORT: '1000/60s' } })
  const client = await connectTo((await stack.info()).database)
  try {
    const targets = []
    for (const { columns, users } of widths) {
      const app = await openApp(stack)
      const repeated = Array.from({ length: columns }, (_, index) => keyOf(index))
      await fill(client, app, repeated, users)
      const ratios: number[] = []
      for (let round = 0; round < Number(values.rounds); round++) {
        const copied = await bareCopy(client, app, repeated)
        const exported = await exportBySluice(stack, client, app, users)
        ratios.push(exported / copied.seconds)
        const size = `${(copied.bytes / 1e6).toFixed(0)} MB`
        console.log(`${columns} keys, ${size}: copy ${copied.seconds.toFixed(2)} s, export ${exported.toFixed(2)} s`)
      }
      targets.push({ name: `export of ${columns} keys ÷ bare copy`, measured: median(ratios), must: 2, ...about })
    }
    return printTargets(targets)
  } finally {
    await client.end()
    await stack.stop()
  }
}

const about = { stretch: 1.5, digits: 2 } as const

/** Returns a key with the type and values of one of the nine keys. */
function keyOf(index: number): BenchKey {
  const [name, type, value] = keys[index % keys.length] as BenchKey
  return [`${name} ${index}`, type, value]
}

/** Copies the values as Postgres has them, unpacking each profile once, and drops the bytes. */
async function bareCopy(client: pg.Client, { appId }: App, columns: readonly BenchKey[]) {
  const cells = columns.map(([key]) => `attributes ->> '${key}'`).join(', ')
  const copy = to(`copy (
    select user_id, ${cells} from (
      select user_id, attributes || '{}' as attributes from users left join profiles using (app_id, user_id)
      where app_id = ${appId} order by user_id offset 0
    ) p
  ) to stdout with (format csv)`)
  let bytes = 0
  const dropped = new Writable({
    write(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      done()
    },
  })
  const started = performance.now()
  await pipeline(client.query(copy), dropped)
  return { seconds: (performance.now() - started) / 1000, bytes }
}
