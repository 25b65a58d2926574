import { accessKeyFinder } from '@sluice/access-keys'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { encryptionKeys, openApp, openTestDashboard } from './test-dashboard.ts'
import { signIn, type Visitor } from './visitor.ts'

const dashboard = openBeforeAll(openTestDashboard)

async function openShop(email: string): Promise<{ appId: number; page: string; member: Visitor }> {
  const { appId } = await openApp(dashboard, 'Shop', email)
  return { appId, page: `/apps/${appId}/credentials`, member: await signIn(dashboard, email) }
}

async function createKey({ appId, page, member }: Awaited<ReturnType<typeof openShop>>) {
  const shown = await member.post(`${page}/access-keys`, {}, page)
  expect(shown.status).toBe(200)
  const [id = ''] = new RegExp(`SLC${appId}K[0-9A-F]{16}`).exec(shown.text) ?? []
  const [, secret = ''] = /aria-label="Secret access key">([\w-]{40})</.exec(shown.text) ?? []
  return { id, secret, text: shown.text }
}

// service.md, Endpoints 4.
test('the page shows bucket, path, endpoint, rules and commands for common programs', async () => {
  const { appId, page, member } = await openShop('where@example.com')
  const { text } = await member.get(page)
  for (const word of ['http://s3.test:3006', '>files<', `>uploads/${appId}/<`, '1 GB', 'no white space']) {
    expect(text).toContain(word)
  }
  expect(text).toContain(`aws s3 cp people.csv s3://files/uploads/${appId}/ --endpoint-url http://s3.test:3006`)
  for (const program of ['s3cmd', 'rclone']) expect(text).toContain(program)
})

// service.md, Authentication 5.
test('a new key works, and its secret is shown once, also in the commands', async () => {
  const shop = await openShop('new@example.com')
  const { id, secret, text } = await createKey(shop)
  const find = accessKeyFinder(dashboard.db, encryptionKeys)
  expect(await find(id)).toEqual({ appId: shop.appId, secretAccessKey: secret })
  expect(text.split(secret).length - 1).toBe(4)
  const listed = await shop.member.get(shop.page)
  expect(listed.text).toContain(id)
  expect(listed.text).toContain('never')
  expect(listed.text).not.toContain(secret)
})

test('the page explains the limit when an app has 20 keys', async () => {
  const shop = await openShop('many@example.com')
  for (let number = 0; number < 20; number++) await createKey(shop)
  const refused = await shop.member.post(`${shop.page}/access-keys`, {}, shop.page)
  expect(refused.status).toBe(409)
  expect(refused.text).toContain('an app can have at most 20 access keys: delete one that is not used any more')
  expect(
    await dashboard.db.selectFrom('access_keys').select('app_id').where('app_id', '=', shop.appId).execute(),
  ).toHaveLength(20)
})

test('deleting a key requires a confirmation, and the key then stops working at once', async () => {
  const shop = await openShop('delete@example.com')
  const [first, second] = [await createKey(shop), await createKey(shop)]
  const confirm = `${shop.page}/access-keys/delete?key=${first.id}`
  expect((await shop.member.get(confirm)).text).toContain('stops working at once')
  const answer = await shop.member.post(`${shop.page}/access-keys/delete`, { key: first.id }, confirm)
  expect([answer.status, answer.headers.get('location')]).toEqual([303, shop.page])
  const find = accessKeyFinder(dashboard.db, encryptionKeys)
  expect(await find(first.id)).toBeUndefined()
  expect(await find(second.id)).toMatchObject({ appId: shop.appId })
  expect((await shop.member.get(shop.page)).text).not.toContain(first.id)
  expect((await shop.member.get(confirm)).status).toBe(404)
})

test('a key of another app is neither shown nor deleted', async () => {
  const [own, foreign] = [await openShop('own@example.com'), await openShop('foreign@example.com')]
  const { id } = await createKey(foreign)
  expect((await own.member.get(`${own.page}/access-keys/delete?key=${id}`)).status).toBe(404)
  await own.member.post(`${own.page}/access-keys/delete`, { key: id }, own.page)
  expect(await accessKeyFinder(dashboard.db, encryptionKeys)(id)).toMatchObject({ appId: foreign.appId })
  expect((await own.member.post(`${foreign.page}/access-keys`, {}, own.page)).status).toBe(404)
})
