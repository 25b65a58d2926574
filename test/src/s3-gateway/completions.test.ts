import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { Storage } from '@sluice/storage'
import { expect, onTestFinished, test } from 'vitest'
import { importRows, smallFile } from './bucket-files.ts'
import { openTestGateway } from './test-gateway.ts'

/** Storage that shows an upload as empty to the second request that completes it, once the first has completed it. */
function emptyWhileCompleted(storage: Storage): Storage {
  const { promise: completed, resolve: markCompleted } = Promise.withResolvers<void>()
  let lists = 0
  return {
    ...storage,
    async listParts(...call) {
      lists += 1
      if (lists === 1) return await storage.listParts(...call)
      await completed
      return []
    },
    async completeParts(...call) {
      await storage.completeParts(...call)
      markCompleted()
    },
  }
}

/** Opens a gateway on changed storage, with an upload of one part that waits for its completion. */
async function openUpload(change: (storage: Storage) => Storage) {
  const gateway = await openTestGateway({}, undefined, change)
  onTestFinished(() => gateway.close())
  const owner = await gateway.openOwner()
  const client = gateway.clientOf(owner)
  const target = { Bucket: gateway.bucket, Key: `${owner.path}a.csv` }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target))
  const { ETag } = await client.send(new UploadPartCommand({ ...target, UploadId, PartNumber: 1, Body: smallFile }))
  const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] }
  return {
    gateway,
    owner,
    uploadId: UploadId,
    complete: () => client.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload })),
    abort: () => client.send(new AbortMultipartUploadCommand({ ...target, UploadId })),
  }
}

test('of two requests that complete an upload at once, none is told that parts are missing', async () => {
  const { gateway, owner, uploadId, complete } = await openUpload(emptyWhileCompleted)
  const [first, second] = await Promise.all([complete(), complete()])
  expect(first.ETag).toBe(second.ETag)
  expect(await importRows(gateway, owner)).toMatchObject([{ import_id: uploadId }])
})

test('a completion beside an abort finds no upload, however far it has come', async () => {
  let abort: () => Promise<unknown> = async () => {}
  const abortedAfter = (step: 'listParts' | 'completeParts' | 'stat') => (storage: Storage) => ({
    ...storage,
    async [step](...call: never[]) {
      const answer = await Reflect.apply(storage[step], storage, call)
      await abort()
      return answer
    },
  })
  for (const step of ['listParts', 'completeParts', 'stat'] as const) {
    const upload = await openUpload(abortedAfter(step))
    abort = upload.abort
    await expect(upload.complete(), step).rejects.toMatchObject({
      name: 'NoSuchUpload',
      $metadata: { httpStatusCode: 404 },
    })
    expect(await importRows(upload.gateway, upload.owner)).toEqual([])
  }
})
