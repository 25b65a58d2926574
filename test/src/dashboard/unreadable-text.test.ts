import { createLink } from '@sluice/sign-in'
import { beforeAll, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openSampleApp } from './sample-app.ts'
import { openOperator, openTestDashboard } from './test-dashboard.ts'
import { openVisitor, signIn, type Visitor } from './visitor.ts'

// Postgres cannot store U+0000. In any field or parameter it is an error of the sender, never an internal error.
const dashboard = openBeforeAll(openTestDashboard)
let appId: number
let member: Visitor
let operator: Visitor
beforeAll(async () => {
  ;({ appId } = await openSampleApp(dashboard, 'Shop', 'anna@example.com'))
  member = await signIn(dashboard, 'anna@example.com')
  await openOperator(dashboard)
  operator = await signIn(dashboard, 'operator@example.com')
})

const forms = [
  ['credentials/api-token', 'replaces'],
  ['credentials/access-keys', 'anything'],
  ['credentials/access-keys/delete', 'key'],
  ['settings/mails', 'shown'],
  ['settings/mails', 'email'],
  ['settings/members', 'email'],
  ['settings/members/remove', 'member'],
  ['settings/invitations/withdraw', 'email'],
] as const

test.each(forms)('the form %s with U+0000 in %s is refused with a reason', async (path, field) => {
  const address = `/apps/${appId}/${path}`
  const answer = await member.post(address, { [field]: 'a\0b' }, `/apps/${appId}/settings`)
  expect(answer.status).toBe(400)
  expect(answer.text).toContain('A field holds the character U+0000')
  expect((await member.post(address, { 'a\0b': 'name' }, `/apps/${appId}/settings`)).status).toBe(400)
})

test.each([
  ['/sign-in', 'email'],
  ['/sign-in/x', 'anything'],
  ['/invitations/1/x', 'anything'],
  ['/theme', 'theme'],
  ['/sign-out', 'anything'],
])('so is the form %s of somebody who is not signed in', async (path, field) => {
  const answer = await openVisitor(dashboard).post(path, { [field]: 'a\0b' }, '/sign-in')
  expect([answer.status, answer.text.includes('A field holds the character U+0000')]).toEqual([400, true])
})

test('a form with a file and U+0000 is refused', async () => {
  const form = new FormData()
  form.set('byte_size', '1\0')
  form.set('file', new Blob(['user_id,a\nuser-1,1\n']), 'a.csv')
  const address = `/apps/${appId}/data-import`
  const answer = await member.postBody(address, form, {}, address)
  expect([answer.status, answer.text.includes('A field holds the character U+0000')]).toEqual([400, true])
})

test.each([
  ['imports?after=1%00', 'member'],
  ['profiles/user?user=a%00b', 'member'],
  ['credentials/access-keys/delete?key=a%00', 'member'],
  ['settings/members/remove?member=a%00', 'member'],
  ['imports?other=%00', 'member'],
  ['imports?%00=1', 'member'],
  ['imports?a=1&a=%00', 'member'],
  ['/apps?search=a%00b', 'operator'],
  ['/queues?x=%00', 'operator'],
  ['/queues/jobs/mails?state=%00', 'operator'],
] as const)('so is the parameter in %s', async (path, who) => {
  const visitor = who === 'member' ? member : operator
  const answer = await visitor.get(path.startsWith('/') ? path : `/apps/${appId}/${path}`)
  expect([answer.status, answer.text.includes('A field holds the character U+0000')]).toEqual([400, true])
})

test.each(['imports/a%00', 'imports/a%00/events', 'imports/a%00/cancel', 'imports/a%00/error-file'])(
  'a page whose address has it (%s) is not there',
  async (path) => {
    expect((await member.get(`/apps/${appId}/${path}`)).status).toBe(404)
  },
)

test.each(['/sign-in/a%00b', '/invitations/1/a%00b', '/invitations/%00/ab'])(
  'a link with it (%s) is no longer good',
  async (path) => {
    const { status, text } = await openVisitor(dashboard).get(path)
    expect(status).toBe(410)
    expect(text).toMatch(/<main.*<a href="\/(sign-in)?">/s)
  },
)

test('the page of a sign-in link shows whose link it is before it is used', async () => {
  const link = await createLink(dashboard.db, 'Anna@example.com')
  const page = await openVisitor(dashboard).get(`/sign-in/${link?.secret}`)
  expect(page.status).toBe(200)
  expect(page.text).toContain('Sign in as <strong>anna@example.com</strong>')
})

test('the page of a used, expired or unknown sign-in link says so at once', async () => {
  const used = await createLink(dashboard.db, 'anna@example.com')
  const path = `/sign-in/${used?.secret}`
  expect((await openVisitor(dashboard).post(path)).status).toBe(303)
  for (const each of [path, '/sign-in/unknown']) expect((await openVisitor(dashboard).get(each)).status).toBe(410)
})
