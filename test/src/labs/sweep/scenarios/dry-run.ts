import type { UploadDescriptor } from '@sluice/contract'
import { send } from '../../../faults/harness/client.ts'
import type { Scenario } from '../scenario.ts'
import { fileNumber, importApps } from './imports.ts'
import { firstRequestOf, post } from './requests.ts'

const file = { ...fileNumber(3), dryRun: true as const }

/** A dry run: its verdict is that of an import, and nothing is applied. */
export const dryRun: Scenario = {
  name: 'dry-run',
  apps: importApps,
  steps: [
    async (stage) => {
      const response = await post(stage, firstRequestOf(file, { dry_run: true }))
      const importId = response.headers.get('x-import-id') ?? ''
      await send(stage.app, { importId, descriptor: (await response.json()) as UploadDescriptor }, file)
    },
    ({ maintain }) => maintain('notice-uploads'),
  ],
}
