import { send } from '@sluice/s3-endpoint/testing'
import { stackBucket } from '../../../s3-gateway/bucket-owner.ts'
import { type Attack, type AttackContext, atMost, type Figures } from '../attack.ts'
import { countStatuses, pauseFor, trickleUpload } from '../attackers.ts'

const documentBytes = 4 * 2 ** 20 - 100

/** Returns requests with documents of 4 MiB, for each operation that reads a document. */
function documents(path: string, uploadId: string) {
  const filled = (head: string, unit: string, tail: string) =>
    `${head}${unit.repeat(Math.floor((documentBytes - head.length - tail.length) / unit.length))}${tail}`
  const complete = `/${stackBucket}/${path}a.csv?uploadId=${encodeURIComponent(uploadId)}`
  const part = '<Part><PartNumber>1</PartNumber><ETag>x</ETag></Part>'
  return [
    { method: 'POST', path: complete, body: filled('<CompleteMultipartUpload>', part, '</CompleteMultipartUpload>') },
    { method: 'POST', path: complete, body: filled('<CompleteMultipartUpload>', '<a/>', '</CompleteMultipartUpload>') },
    { method: 'POST', path: complete, body: filled('<CompleteMultipartUpload>', '<a>', '') },
    { method: 'POST', path: `${complete}x`, body: filled('<CompleteMultipartUpload>', '&amp;', '') },
    {
      method: 'PUT',
      path: `/${stackBucket}`,
      body: filled('<CreateBucketConfiguration>', '<a/>', '</CreateBucketConfiguration>'),
    },
    {
      method: 'POST',
      path: `/${stackBucket}?delete=`,
      body: filled('<Delete>', '<Object><Key>k</Key></Object>', '</Delete>'),
    },
  ]
}

export const gatewayAttacks: Attack[] = [
  {
    title: '4 MiB of XML for each operation that reads a document',
    inSample: true,
    attack: (context) => sendDocuments(context, context.isShort ? 1 : 3),
    expect: (figures, { isShort }) => (isShort ? [] : atMost(figures, 'slowest, s', 10)),
  },
  {
    title: '4 MiB of XML during 300 slow uploads',
    async attack(context) {
      const { path, accessKeyId, secretAccessKey } = await context.openAttacker()
      const signed = { accessKeyId, secretAccessKey }
      const slow = Array.from({ length: 300 }, (_, index) =>
        trickleUpload(context.signal, context.urls.s3Gateway, `/${stackBucket}/${path}slow-${index}.csv`, signed),
      )
      await pauseFor(context.signal, 2_000)
      const figures = await sendDocuments(context, 5)
      for (const client of slow) client.end()
      return figures
    },
    expect: (figures) => atMost(figures, 'slowest, s', 10),
  },
  {
    title: '1,005 trickling uploads of one key',
    async attack(context) {
      const { path, accessKeyId, secretAccessKey } = await context.openAttacker()
      const signed = { accessKeyId, secretAccessKey }
      const slow = Array.from({ length: 1_005 }, () =>
        trickleUpload(context.signal, context.urls.s3Gateway, `/${stackBucket}/${path}slow.csv`, signed),
      )
      await pauseFor(context.signal, 60_000)
      const open = slow.filter((client) => client.isOpen()).length
      for (const client of slow) client.end()
      return { 'still open after 60 s': open, ...countStatuses(await Promise.all(slow.map(({ closed }) => closed))) }
    },
    expect: (figures) => atMost(figures, 'still open after 60 s', 100),
  },
  {
    title: 'NUL in parameters, and segments that lead out of the path',
    inSample: true,
    async attack(context) {
      const { path, ...key } = await context.openAttacker()
      const { accessKeyId, secretAccessKey } = key
      const paths = [
        ...['prefix', 'delimiter', 'start-after', 'marker', 'continuation-token', 'key-marker'].map(
          (name) => `/${stackBucket}?list-type=2&${name}=${encodeURIComponent(`${path}\0`)}`,
        ),
        `/${stackBucket}?uploads=&prefix=${encodeURIComponent(path)}&upload-id-marker=%00&key-marker=%00`,
        `/${stackBucket}/${path}../x.csv`,
        `/${stackBucket}/${path}./x.csv`,
      ]
      const answers = await Promise.all(
        paths.map((each) => send(context.urls.s3Gateway, { path: each, accessKeyId, secretAccessKey })),
      )
      return { 'answers of 500 and more': answers.filter(({ status }) => status >= 500).length }
    },
    expect: (figures) => atMost(figures, 'answers of 500 and more', 0),
  },
]

async function sendDocuments(context: AttackContext, times: number): Promise<Figures> {
  const { urls } = context
  const { path, accessKeyId, secretAccessKey } = await context.openAttacker()
  const signed = { accessKeyId, secretAccessKey }
  const { text } = await send(urls.s3Gateway, {
    ...signed,
    method: 'POST',
    path: `/${stackBucket}/${path}a.csv?uploads=`,
  })
  const uploadId = /<UploadId>([^<]+)</.exec(text)?.[1] ?? ''
  const begun = performance.now()
  const all = Array.from({ length: times }, () => documents(path, uploadId)).flat()
  const answers = await Promise.all(
    all.map((request) => send(urls.s3Gateway, { ...signed, ...request }).catch(() => ({ status: 0 }))),
  )
  return { 'slowest, s': Math.round((performance.now() - begun) / 100) / 10, ...countStatuses(answers) }
}
