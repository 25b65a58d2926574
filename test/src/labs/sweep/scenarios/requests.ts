import type { UploadDescriptor } from '@sluice/contract'
import { send } from '../../../faults/harness/client.ts'
import type { GeneratedFile } from '../../../faults/harness/generate.ts'
import { bulkImport, declare } from '../../../stack/client.ts'
import type { Prepared, Scenario } from '../scenario.ts'
import { fileNumber, importApps } from './imports.ts'
import { post } from './post.ts'

/** Notes the file of each import that a client began in another way than by a first request. */
export async function noteImports({ system, app }: Prepared, file: GeneratedFile): Promise<number> {
  const rows = await system.db
    .selectFrom('imports')
    .select(['import_id', 'state'])
    .where('app_id', '=', app.appId)
    .where('state', 'not in', ['awaiting_upload', 'expired'])
    .execute()
  for (const row of rows) app.files.set(row.import_id, file)
  return rows.length
}

const checkedFile = { ...fileNumber(3), dryRun: true as const }

/** A dry run: its verdict is that of an import, and nothing is applied. Its first request has an idempotency key. */
export const dryRun: Scenario = {
  name: 'dry-run',
  apps: importApps,
  steps: [
    async (stage) => {
      const body = JSON.stringify({ ...declare(checkedFile.bytes, checkedFile.contentType), dry_run: true })
      const response = await post(stage, { path: bulkImport, contentType: 'application/json', body })
      const { direct_upload: upload } = (await response.json()) as UploadDescriptor
      await send(stage.app, { importId: response.headers.get('x-import-id') ?? '', ...upload }, checkedFile)
    },
    ({ maintain }) => maintain('notice-uploads'),
  ],
}

const file = fileNumber(3)

/** A v2 request: the file is in its body. The client repeats the request with one idempotency key. */
export const v2Request: Scenario = {
  name: 'v2-request',
  apps: importApps,
  steps: [
    (stage) =>
      post(stage, {
        path: '/v2/user_profiles/bulk_import',
        contentType: file.contentType,
        body: new Uint8Array(file.bytes),
      }),
    ({ maintain }) => maintain('dispatch'),
  ],
  isSettled: async (stage) => (await noteImports(stage, file)) > 0,
  verify: async ({ app }) => (app.files.size === 1 ? [] : [`${app.files.size} imports of one request`]),
}
