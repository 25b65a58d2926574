import { beforeAll, expect, test } from 'vitest'
import { createDiskBackend } from '../disk/backend.ts'
import { send } from '../testing/raw-request.ts'
import { fileTeardown, makeDirectory, type RunningEndpoint, runEndpoint } from '../testing/running-endpoint.ts'

let endpoint: RunningEndpoint
beforeAll(async () => {
  const { until, end } = fileTeardown()
  endpoint = await runEndpoint({}, until)
  return end
})

test('a bucket with tags is refused, because the tags would be dropped', async () => {
  const tags = '<Tags><Tag><Key>a</Key><Value>b</Value></Tag></Tags>'
  const body = `<CreateBucketConfiguration>${tags}</CreateBucketConfiguration>`
  const answer = await send(endpoint.url, { method: 'PUT', path: '/tagged-bucket', body })
  expect(answer).toMatchObject({ status: 501, code: 'NotImplemented' })
  expect(await send(endpoint.url, { method: 'HEAD', path: '/tagged-bucket' })).toMatchObject({ status: 404 })
})

test.each([
  '192.168.7.8',
  'foo.-bar',
  'foo-.bar',
  'xn--bucket',
  'sthree-bucket',
  'amzn-s3-demo-bucket',
  'bucket-s3alias',
  'bucket--ol-s3',
  'bucket.mrap',
  'bucket--x-s3',
  'bucket--table-s3',
])('a bucket is not created under the name %s, which S3 refuses', async (name) => {
  const answer = await send(endpoint.url, { method: 'PUT', path: `/${name}` })
  expect(answer).toMatchObject({ status: 400, code: 'InvalidBucketName' })
  expect(await send(endpoint.url, { method: 'HEAD', path: `/${name}` })).toMatchObject({ status: 404 })
})

test.each(['bucket.with.dots', '192.168.7.8.9', 'a1-b2.c3', 's3alias', 'mrap'])(
  'a bucket is created under the name %s, which S3 accepts',
  async (name) => {
    expect(await send(endpoint.url, { method: 'PUT', path: `/${name}` })).toMatchObject({ status: 200 })
  },
)

test('a bucket that an earlier version created under such a name stays reachable', async () => {
  const root = await makeDirectory()
  await (await createDiskBackend({ root })).createBucket('foo.-bar')
  const { url } = await runEndpoint({ root, buckets: ['foo.-bar'] })
  expect(await send(url, { method: 'PUT', path: '/foo.-bar/k', body: 'x' })).toMatchObject({ status: 200 })
})

test('the endpoint does not start with a bucket that S3 would refuse', async () => {
  await expect(runEndpoint({ buckets: ['192.168.7.8'] })).rejects.toMatchObject({ code: 'InvalidBucketName' })
})
