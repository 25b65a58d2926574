import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { createAccessKey } from '@sluice/access-keys'
import { pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import { retry } from '../../../faults/harness/client.ts'
import { type GeneratedFile, generatedUsers, write } from '../../../faults/harness/generate.ts'
import type { Prepared, Scenario } from '../scenario.ts'
import type { SweepSystem } from '../system.ts'
import { noteImports } from './requests.ts'

/** Size of the first part, bytes. All parts but the last one have at least this size. */
const partBytes = 5 * 2 ** 20

/** How long the client waits for an answer, ms. */
const answerTimeoutMs = 5_000

/** The clients of the owners of the buckets, by system. */
const clients = new WeakMap<SweepSystem, S3Client>()

const file = largeFile()

/** An upload to the S3 gateway in two parts, and its import. */
export const bucketUpload: Scenario = {
  name: 'bucket-upload',
  apps: ['api', 'worker', 's3-gateway'],
  async prepare({ system, app }) {
    const { ENCRYPTION_KEYS: keys } = readSettings(system.settings(system.ports), ['ENCRYPTION_KEYS'])
    const { accessKeyId, secretAccessKey } = await createAccessKey(system.db, keys, app.appId)
    const credentials = { accessKeyId, secretAccessKey }
    // The sweep itself repeats requests, so that a repetition never waits for the SDK.
    const config = { region: 'us-east-1', forcePathStyle: true, maxAttempts: 1 }
    clients.set(system, new S3Client({ ...config, endpoint: system.gateway, credentials }))
  },
  steps: [uploadInParts, ({ maintain }) => maintain('dispatch')],
  isSettled: async (stage) => (await noteImports(stage, file)) > 0,
  verify: async ({ app }) => (app.files.size === 1 ? [] : [`${app.files.size} imports of one upload`]),
}

/** Uploads the file. Repeats each request until it succeeds. */
async function uploadInParts({ system, app }: Prepared): Promise<void> {
  const client = clients.get(system)
  if (client === undefined) throw new Error('the scenario is not prepared')
  const target = { Bucket: system.storageSettings.S3_BUCKET, Key: `${pathOf(app.appId)}people.csv` }
  // A frozen process answers nothing, so the client gives up and asks its successor.
  const limit = () => ({ abortSignal: AbortSignal.timeout(answerTimeoutMs) })
  const { UploadId } = await retry('the start of the upload', () =>
    client.send(new CreateMultipartUploadCommand(target), limit()),
  )
  const parts: { PartNumber: number; ETag: string | undefined }[] = []
  for (const [index, Body] of [file.bytes.subarray(0, partBytes), file.bytes.subarray(partBytes)].entries()) {
    const PartNumber = index + 1
    const { ETag } = await retry('a part', () =>
      client.send(new UploadPartCommand({ ...target, UploadId, PartNumber, Body }), limit()),
    )
    parts.push({ PartNumber, ETag })
  }
  const completion = { ...target, UploadId, MultipartUpload: { Parts: parts } }
  await retry('the completion', () => client.send(new CompleteMultipartUploadCommand(completion), limit()))
  client.destroy()
}

/** Returns a file that needs two parts but has few rows: some of them have a value that is far too long. */
function largeFile(): GeneratedFile {
  const note = Buffer.alloc(900 * 2 ** 10, 'x')
  const rows = generatedUsers.map((user, row) => [
    Buffer.from(user),
    Buffer.from(`m${row}`),
    row % 10 === 9 ? note : Buffer.from('short'),
  ])
  const table = { header: ['user_id', 'mark', 'note'], rows }
  return { table, bytes: write(table), contentType: 'text/csv', refusal: undefined }
}
