import type { UploadDescriptor } from '@sluice/contract'
import { send } from '../../../faults/harness/client.ts'
import { bulkImport, declare } from '../../../stack/client.ts'
import type { Scenario } from '../scenario.ts'
import { fileNumber, importApps } from './imports.ts'
import { post } from './requests.ts'

const file = { ...fileNumber(3), dryRun: true as const }

/** A dry run: its verdict is that of an import, and nothing is applied. Its first request has an idempotency key. */
export const dryRun: Scenario = {
  name: 'dry-run',
  apps: importApps,
  steps: [
    async (stage) => {
      const body = JSON.stringify({ ...declare(file.bytes, file.contentType), dry_run: true })
      const response = await post(stage, { path: bulkImport, contentType: 'application/json', body })
      const { direct_upload: upload } = (await response.json()) as UploadDescriptor
      await send(stage.app, { importId: response.headers.get('x-import-id') ?? '', ...upload }, file)
    },
    ({ maintain }) => maintain('notice-uploads'),
  ],
}
