import type { Scenario } from '../scenario.ts'
import { fileNumber, importApps } from './imports.ts'
import { noteImports, post } from './requests.ts'

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
