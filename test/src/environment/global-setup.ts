import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '@sluice/database'
import { startPostgres } from '@sluice/local-stack'
import { migrateQueue } from '@sluice/queue'
import type { TestProject } from 'vitest/node'
import { findChromium } from './chromium.ts'
import { createTemplate } from './database.ts'
import { startRedis } from './redis.ts'
import { offerStack } from './shared-stack.ts'
import { startTestStorage } from './storage-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    /** Undefined if there is neither `REDIS_TEST_URL` nor a redis-server. */
    redisUrl: string | undefined
    /** Undefined if there is neither `CHROMIUM_PATH` nor a chromium on the path. */
    chromium: string | undefined
    s3Endpoint: string
    /** The URL of a server that starts the shared stack when first asked, and answers with the stack's folder. */
    stackOffer: string
  }
}

/** Starts the servers that system tests share. Each test file then creates its own database. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  // No data here needs to survive a power failure.
  const settings = { fsync: 'off', full_page_writes: 'off' }
  const postgres = await startPostgres({ dataDirectory: join(folder, 'postgres'), port: 0, settings })
  const storage = await startTestStorage(join(folder, 'storage'))
  const redis = await startRedis(folder)
  await createTemplate(postgres.url, async (databaseUrl) => {
    await migrate(databaseUrl)
    await migrateQueue({ databaseUrl })
  })
  project.provide('postgresUrl', postgres.url)
  project.provide('redisUrl', redis?.url)
  project.provide('chromium', await findChromium())
  project.provide('s3Endpoint', storage.url)
  const stack = await offerStack(storage.url)
  project.provide('stackOffer', stack.url)
  return async () => {
    await stack.close()
    await redis?.stop()
    await storage.stop()
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
