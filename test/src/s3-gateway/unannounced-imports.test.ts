// A file that an operator's tools put into the bucket becomes one import, or is reported by mail.
import { DeleteObjectCommand } from '@aws-sdk/client-s3'
import { importUnannouncedFiles } from '@sluice/bucket-uploads'
import { beforeEach, expect, test } from 'vitest'
import { clearPaths, importedContents, importRows, listedNames, putPast, smallFile } from './bucket-files.ts'
import { eachWithOwner } from './test-gateway.ts'

const { gateway, owner } = eachWithOwner()
beforeEach(() => clearPaths(gateway))

const day = 24 * 60 * 60_000
const imports = () => importRows(gateway, owner)
const listing = () => listedNames(gateway, owner)
const take = () => importUnannouncedFiles(gateway.maintenance)

test('an unannounced file becomes one import and is removed from the path', async () => {
  await putPast(gateway, owner, 'people.csv')
  expect(await listing()).toEqual(['people.csv'])
  expect(await take()).toMatchObject({ imported: 1, mails: [] })
  expect(await take()).toMatchObject({ imported: 0, mails: [] })
  expect(await imports()).toMatchObject([{ source: 'bucket', state: 'queued', file_name: 'people.csv' }])
  expect(await importedContents(gateway, owner)).toEqual([smallFile])
  expect(await gateway.maintenance.storage.stat(`${owner.path}people.csv`)).toBeUndefined()
  expect(await listing()).toEqual(['people.csv'])
})

test('an unannounced file becomes one import even if several runs find it at the same moment', async () => {
  await putPast(gateway, owner, 'people.csv')
  await Promise.all([take(), take(), take(), take()])
  expect(await imports()).toHaveLength(1)
})

test('an unannounced file becomes one import even if maintenance dies before it removes the file from the path', async () => {
  await putPast(gateway, owner, 'people.csv')
  const { storage } = gateway.maintenance
  const dying = { ...gateway.maintenance, storage: { ...storage, remove: () => Promise.reject(new Error('killed')) } }
  await importUnannouncedFiles(dying)
  expect(await storage.stat(`${owner.path}people.csv`)).toBeDefined()
  expect(await imports()).toHaveLength(1)
  await take()
  expect(await imports()).toHaveLength(1)
  expect(await storage.stat(`${owner.path}people.csv`)).toBeUndefined()
})

test('an unannounced file that is replaced becomes another import', async () => {
  await putPast(gateway, owner, 'people.csv', 'user_id\na\n')
  await take()
  await putPast(gateway, owner, 'people.csv', 'user_id\nb\n')
  await take()
  expect(await imports()).toHaveLength(2)
})

test('an unannounced file that is replaced while it is being imported is left for the next run', async () => {
  await putPast(gateway, owner, 'people.csv', 'user_id\na\n')
  const { storage } = gateway.maintenance
  const copy: typeof storage.copy = async (...args) => {
    await storage.copy(...args)
    await putPast(gateway, owner, 'people.csv', 'user_id\nb\n')
  }
  await importUnannouncedFiles({ ...gateway.maintenance, storage: { ...storage, copy } })
  await take()
  expect(await importedContents(gateway, owner)).toEqual(['user_id\na\n', 'user_id\nb\n'])
})

test('an unannounced file can be deleted until maintenance has found it', async () => {
  await putPast(gateway, owner, 'people.csv')
  await gateway
    .clientOf(owner)
    .send(new DeleteObjectCommand({ Bucket: gateway.bucket, Key: `${owner.path}people.csv` }))
  await take()
  expect(await imports()).toEqual([])
})

test.each([
  ['a b.csv', 'white space'],
  ['folder/a.csv', 'slash'],
  ['..', 'must not be ..'],
])(
  'an unannounced file that breaks the rules (%s) causes no import but one mail with the reason',
  async (name, reason) => {
    await putPast(gateway, owner, name)
    const { imported, mails } = await take()
    expect([imported, mails.length]).toEqual([0, 1])
    expect(await take()).toMatchObject({ imported: 0, mails: [] })
    const sent = await gateway.db.selectFrom('mails').selectAll().where('app_id', '=', owner.appId).execute()
    expect(sent).toMatchObject([{ recipient: 'ann@example.com', text: expect.stringContaining(reason) }])
    expect(sent[0]?.text).toContain(name)
    expect(await imports()).toEqual([])
    expect(await listing()).toEqual([name])
  },
)

test('an unannounced file that is too large causes no import but a mail', async () => {
  await putPast(gateway, owner, 'large.csv')
  const { storage } = gateway.maintenance
  async function* list(prefix: string) {
    for await (const page of storage.list(prefix)) yield page.map((object) => ({ ...object, byteSize: 2 ** 30 + 1 }))
  }
  const { imported, mails } = await importUnannouncedFiles({ ...gateway.maintenance, storage: { ...storage, list } })
  expect([imported, mails.length]).toEqual([0, 1])
  expect(await imports()).toEqual([])
  await take()
})

test('an unannounced file that breaks the rules is removed after its retention time', async () => {
  await putPast(gateway, owner, 'a b.csv')
  await take()
  const { storage } = gateway.maintenance
  const older = (object: { modifiedAt: Date }) => ({ modifiedAt: new Date(object.modifiedAt.getTime() - 7.01 * day) })
  async function* list(prefix: string) {
    for await (const page of storage.list(prefix)) yield page.map((object) => ({ ...object, ...older(object) }))
  }
  const stat: typeof storage.stat = async (key) => {
    const object = await storage.stat(key)
    return object && { ...object, ...older(object) }
  }
  await importUnannouncedFiles({ ...gateway.maintenance, storage: { ...storage, list, stat } })
  expect(await listing()).toEqual([])
})

test('an unannounced file is left alone if it is a folder marker or belongs to no app', async () => {
  await putPast(gateway, owner, '', '')
  await putPast(gateway, owner, 'folder/', '')
  const key = 'uploads/999999/people.csv'
  await putPast(gateway, { ...owner, path: 'uploads/999999/' }, 'people.csv')
  expect(await take()).toEqual({ imported: 0, mails: [] })
  expect(await gateway.maintenance.storage.stat(key)).toBeDefined()
})
