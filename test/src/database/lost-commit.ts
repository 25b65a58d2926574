import { connect, type Database } from '@sluice/database'
import { onTestFinished } from 'vitest'
import { startMessageProxy } from '../labs/sweep/wire/message-proxy.ts'
import { readPostgresUnits } from '../labs/sweep/wire/postgres.ts'

/**
 * Connects to a database through a proxy that loses the answer to each COMMIT after a statement that begins with
 * `statement`. The connection ends then, although the transaction was committed. Closes both at the end of the test.
 */
export async function losingCommitAfter(databaseUrl: string, statement: string): Promise<Database> {
  const url = new URL(databaseUrl)
  let isSent = false
  const proxy = await startMessageProxy(Number(url.port), readPostgresUnits, ({ label = '' }) => {
    isSent ||= label.startsWith(statement)
    if (!isSent || label !== 'commit') return { kind: 'forward' }
    return { kind: 'lose answer', before: () => {}, after: async () => {} }
  })
  onTestFinished(() => proxy.close())
  url.port = String(proxy.port)
  const { db, close } = connect(url.href, { onError: () => {} })
  onTestFinished(close)
  return db
}
