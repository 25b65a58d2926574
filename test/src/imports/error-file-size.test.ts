import { runImport } from '@sluice/imports'
import { registerKeys } from '@sluice/profiles'
import { sql } from '@sluice/database'
import type { Storage } from '@sluice/storage'
import { beforeAll, describe, expect, test } from 'vitest'
import { gzipSync } from 'node:zlib'
import { claim, openApp, openWorkshop, queueFile, type Workshop } from './workshop.ts'

// What the rows of an error file take up in Postgres until it is stored, and how large it becomes.
let workshop: Workshop
const never = new AbortController().signal

beforeAll(async () => {
  workshop = await openWorkshop()
  return () => workshop.close()
})

/** Imports a gzip file up to its error file, which storage refuses. Returns the bytes that its rows take up in Postgres. */
async function bytesKept(appId: number, file: string): Promise<number> {
  const importId = await queueFile(workshop, appId, gzipSync(file, { level: 9 }), 'application/gzip')
  const storage: Storage = { ...workshop.storage, writeStream: () => Promise.reject(new Error('refused')) }
  const outcome = await runImport({ ...workshop.context, storage }, await claim(workshop, appId, importId), never)
  expect(outcome).toEqual({ outcome: 'postponed' })
  const { rows } = await sql<{ bytes: number }>`
    select sum(octet_length(content))::bigint as bytes from import_error_chunks where import_id = ${importId}
  `.execute(workshop.database.db)
  return rows[0]?.bytes ?? 0
}

async function appWithKeys(names: readonly string[]): Promise<number> {
  const appId = await openApp(workshop, ['u1'])
  const keys = new Map(names.map((name) => [name, 'int' as const]))
  await workshop.database.db.transaction().execute((tx) => registerKeys(tx, appId, keys, 500))
  return appId
}

describe('what the rows of an error file take up is proportional to the file', () => {
  test('500,000 rows of one letter', async () => {
    const file = `user_id\n${'x\n'.repeat(500_000)}`
    expect(await bytesKept(await openApp(workshop), file)).toBeLessThanOrEqual(2 * file.length)
  })

  test('360 columns with names of 255 characters, all wrong in 1,000 rows', async () => {
    const names = Array.from({ length: 360 }, (_, i) => `${i}`.padEnd(255, 'n'))
    const rows = `u1${',x'.repeat(360)}\n`.repeat(1_000)
    const kept = await bytesKept(await appWithKeys(names), `user_id,${names.join(',')}\n${rows}`)
    expect(kept).toBeLessThanOrEqual(2.1 * rows.length)
  })

  test('97 columns with names of 250 characters outside the basic plane', async () => {
    const names = Array.from({ length: 97 }, (_, i) => `${String(i).padStart(5, '0')}${'😀'.repeat(250)}`)
    const rows = `u1${',x'.repeat(97)}\n`.repeat(1_000)
    const kept = await bytesKept(await appWithKeys(names), `user_id,${names.join(',')}\n${rows}`)
    expect(kept).toBeLessThanOrEqual(2.1 * rows.length)
  })

  test('25,000 columns that the rows have no value for', async () => {
    const names = Array.from({ length: 25_000 }, (_, i) => i.toString(36))
    const rows = 'x\n'.repeat(2_000)
    const kept = await bytesKept(await openApp(workshop), `user_id,${names.join(',')}\n${rows}`)
    expect(kept).toBeLessThanOrEqual(2.1 * rows.length)
  })
})
