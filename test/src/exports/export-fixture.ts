import assert from 'node:assert/strict'
import { gunzipSync } from 'node:zlib'
import type { ExportView } from '@sluice/contract'
import { claimExport, requestExport, runExport, showExport } from '@sluice/exports'
import type { ImportFixture } from '../imports/import-fixture.ts'

const never = new AbortController().signal

export async function request({ database }: ImportFixture, appId: number, keys?: readonly string[]): Promise<string> {
  const requested = await requestExport(database.db, appId, keys)
  assert('exportId' in requested, JSON.stringify(requested))
  return requested.exportId
}

/** Claims the export that is first in order, and runs it to its end. */
export async function runNext({ context }: ImportFixture): Promise<string> {
  const claim = await claimExport(context)
  assert(claim !== undefined, 'no export waits')
  return await runExport(context, claim, never)
}

export async function show({ database }: ImportFixture, appId: number, exportId: string): Promise<ExportView> {
  const view = await showExport(database.db, 'http://api.test', appId, exportId)
  assert(view !== undefined, `export ${exportId} is gone`)
  return view
}

/** Returns the compressed file of the only stored attempt of an export. */
export async function storedFile(
  { storage }: ImportFixture,
  appId: number,
  exportId: string,
  attempt = 1,
): Promise<Buffer> {
  const stored = await storage.read(`apps/${appId}/exports/${exportId}/${attempt}.csv.gz`)
  return Buffer.concat(await stored.toArray())
}

export async function exportApp(fixture: ImportFixture, appId: number, keys?: readonly string[]): Promise<string> {
  const exportId = await request(fixture, appId, keys)
  assert.equal(await runNext(fixture), 'completed')
  return gunzipSync(await storedFile(fixture, appId, exportId)).toString()
}
