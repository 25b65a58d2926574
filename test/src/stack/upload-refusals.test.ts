import { request } from 'node:http'
import { limits } from '@sluice/contract'
import { openStorage } from '@sluice/storage'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openSharedStack, storageOfSharedStack } from '../environment/shared-stack.ts'
import { declare, ended, openApp, put, type RequestedImport, requestImport, statusOf } from './client.ts'

// How storage handles a second request that differs from the first request's declaration
// (design.md §3, Upload binding).
const stack = openBeforeAll(openSharedStack)

afterEach(() => void vi.useRealTimers())

const file = Buffer.from('user_id,age\nu1,31\n')
const other = Buffer.from('user_id,age\nu1,32\n')
const { checksum } = declare(file)

interface Refusal {
  name: string
  send(requested: RequestedImport): ReturnType<typeof put>
  answers: { status: number; code?: string }[]
}

const refusals: Refusal[] = [
  {
    name: 'another Content-Type',
    send: ({ url, headers }) => put(url, { ...headers, 'Content-Type': 'application/gzip' }, file),
    answers: [{ status: 403 }, { status: 400 }],
  },
  {
    name: 'no Content-Type',
    send: ({ url }) => put(url, { 'Content-MD5': checksum }, file),
    answers: [{ status: 403 }, { status: 400 }],
  },
  {
    name: 'another Content-MD5',
    send: ({ url, headers }) => put(url, { ...headers, 'Content-MD5': declare(other).checksum }, other),
    answers: [{ status: 403 }, { status: 400 }],
  },
  {
    name: 'no Content-MD5',
    send: ({ url }) => put(url, { 'Content-Type': 'text/csv' }, file),
    answers: [{ status: 403 }, { status: 400 }],
  },
  {
    name: 'another length',
    send: ({ url, headers }) => put(url, headers, Buffer.concat([file, Buffer.from('u1,33\n')])),
    answers: [{ status: 403 }, { status: 400 }],
  },
  {
    name: 'another body under the right headers',
    send: ({ url, headers }) => put(url, headers, other),
    answers: [{ status: 400, code: 'BadDigest' }],
  },
  {
    name: 'a tampered signature',
    send: ({ url, headers }) =>
      put(
        url.replace(/(X-Amz-Signature=)(.)/, (_, name, digit) => name + (digit === '0' ? '1' : '0')),
        headers,
        file,
      ),
    answers: [{ status: 403, code: 'SignatureDoesNotMatch' }],
  },
  {
    name: 'a longer validity than was signed',
    send: ({ url, headers }) => put(url.replace('X-Amz-Expires=300', 'X-Amz-Expires=301'), headers, file),
    answers: [{ status: 403, code: 'SignatureDoesNotMatch' }],
  },
  {
    name: 'another import’s key',
    send: ({ importId, url, headers }) => put(url.replace(importId, crypto.randomUUID()), headers, file),
    answers: [{ status: 403, code: 'SignatureDoesNotMatch' }],
  },
  {
    name: 'no signature',
    send: ({ url, headers }) => put(url.split('?', 1)[0] ?? '', headers, file),
    // OpenStack Swift does not recognise such a request as one of S3.
    answers: [{ status: 403, code: 'AccessDenied' }, { status: 400 }],
  },
]

/** What became of an upload that was refused, and of the declared upload afterwards. */
interface Outcome {
  refused: Awaited<ReturnType<typeof put>>
  stateAfterRefusal: string
  accepted: Awaited<ReturnType<typeof put>>
  view: Awaited<ReturnType<typeof ended>>
}

/** Makes the uploads of all refusals. Returns their outcomes by name. */
async function outcomesOf(tried: readonly Refusal[]): Promise<Map<string, Outcome>> {
  const declared = async () => {
    const { token } = await openApp(stack, ['u1'])
    return { token, requested: await requestImport(stack.api, token, declare(file)) }
  }
  const upload = ({ url, headers }: RequestedImport) => put(url, headers, file)
  const sent = await Promise.all(
    tried.map(async (refusal) => {
      const { token, requested } = await declared()
      return { refusal, token, requested, refused: await refusal.send(requested) }
    }),
  )
  // Uploads are noticed in the order of their first requests. If storage had accepted a refused upload, it would be
  // noticed before this later upload.
  const later = await declared()
  await upload(later.requested)
  await ended(stack.api, later.token, later.requested.importId)
  const uploaded = await Promise.all(
    sent.map(async ({ requested, ...rest }) => {
      const { state: stateAfterRefusal } = await statusOf(stack.api, rest.token, requested.importId)
      return { ...rest, importId: requested.importId, stateAfterRefusal, accepted: await upload(requested) }
    }),
  )
  const outcomes = new Map<string, Outcome>()
  for (const { refusal, token, importId, ...outcome } of uploaded) {
    outcomes.set(refusal.name, { ...outcome, view: await ended(stack.api, token, importId) })
  }
  return outcomes
}

let outcomes: Map<string, Outcome>
beforeAll(async () => {
  outcomes = await outcomesOf(refusals)
})

// service.md, Endpoints 4; service.md, Authentication 4; design.md §3, Upload binding.
test.for(refusals)(
  'storage refuses $name; the import keeps waiting, and the declared upload succeeds',
  ({ name, answers }) => {
    const outcome = outcomes.get(name)
    expect(answers.map((answer) => ({ code: outcome?.refused.code, ...answer }))).toContainEqual(outcome?.refused)
    expect(outcome?.stateAfterRefusal).toBe('awaiting_upload')
    expect(outcome?.accepted).toEqual({ status: 200, code: undefined })
    expect(outcome?.view).toMatchObject({ state: 'completed', rows_applied: 1 })
  },
)

test('an upload that breaks off is not imported, and can be repeated', async () => {
  const { token } = await openApp(stack, ['u1'])
  const { importId, url, headers } = await requestImport(stack.api, token, declare(file))
  const broken = request(url, { method: 'PUT', headers: { ...headers, 'Content-Length': file.length } })
  broken.on('error', () => {})
  await new Promise<void>((resolve) => void broken.write(file.subarray(0, -1), () => resolve()))
  broken.destroy()

  expect(await put(url, headers, file)).toEqual({ status: 200, code: undefined })
  expect(await ended(stack.api, token, importId)).toMatchObject({ state: 'completed', rows_applied: 1 })
})

// service.md, States and transitions; service.md, Limits.
test('an upload address is valid for five minutes', async () => {
  const { token } = await openApp(stack, ['u1'])
  const { importId, headers } = await requestImport(stack.api, token, declare(file))
  expect(await put(await addressSigned(5 * 60_000 + 1000, importId), headers, file)).toEqual({
    status: 403,
    code: 'AccessDenied',
  })
  expect((await put(await addressSigned(4 * 60_000, importId), headers, file)).status).toBe(200)
})

/**
 * Returns the address that the API would have returned `agoMs` ms ago, with the signing code of the storage package.
 */
async function addressSigned(agoMs: number, importId: string): Promise<string> {
  const storage = openStorage(await storageOfSharedStack(stack))
  const { app_id: appId } = await stack.db
    .selectFrom('imports')
    .select('app_id')
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - agoMs })
  try {
    const terms = { contentType: 'text/csv', byteSize: file.length, checksum }
    return await storage.presignUpload(`apps/${appId}/imports/${importId}/upload`, terms, limits.uploadWindowMs)
  } finally {
    vi.useRealTimers()
    storage.close()
  }
}
