import { addMember, createApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { enqueueMails } from '@sluice/mail'
import { acceptInvitation, addOperator, inviteMember } from '@sluice/sign-in'
import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { openApp, openTestDashboard } from './test-dashboard.ts'
import { formTokenIn, openVisitor, signIn, type Visitor } from './visitor.ts'

// An address that another person enters gets only confirmation mails, and their number is limited.
const dashboard = openBeforeAll(() => openTestDashboard(async () => ({ memberLimit: 30 })))

const content = { subject: 'Event', text: 'Event', html: 'Event' }

interface Shop {
  appId: number
  owner: Visitor
  settings: string
}

async function openShop(email: string, name = 'Shop'): Promise<Shop> {
  const { appId } = await openApp(dashboard, name, email)
  return { appId, owner: await signIn(dashboard, email), settings: `/apps/${appId}/settings` }
}

async function add({ owner, settings }: Shop, email: string): Promise<number> {
  return (await owner.post(`${settings}/members`, { email }, settings)).status
}

const withdraw = async ({ owner, settings }: Shop, email: string) =>
  await owner.post(`${settings}/invitations/withdraw`, { email }, settings)

const mailsTo = async (email: string) => (await dashboard.mails()).filter(({ to }) => to.includes(email))

/** Waits for `mails` mails to an address. Returns the link in the last mail. */
async function linkTo(email: string, mails = 1): Promise<string> {
  const sent = await until(`${mails} mails to ${email}`, async () => {
    const all = await mailsTo(email)
    return all.length >= mails && all
  })
  return /http\S+/.exec(sent[0]?.text ?? '')?.[0] ?? ''
}

/** Returns the recipients of an event's mail. */
async function recipients({ appId }: Shop): Promise<string[]> {
  const event = crypto.randomUUID()
  await enqueueMails(dashboard.db, appId, event, content)
  const mails = await dashboard.db.selectFrom('mails').select('recipient').where('event', '=', event).execute()
  return mails.map(({ recipient }) => recipient).toSorted()
}

// design.md §3, E-mail addresses.
test('an added person gets mails and may sign in only after confirming the address through a mailed link', async () => {
  const shop = await openShop('owner.a@example.com')
  expect(await add(shop, 'Guest.A@example.com')).toBe(303)
  const link = await linkTo('guest.a@example.com')
  expect(await recipients(shop)).toEqual(['owner.a@example.com'])
  const guest = openVisitor(dashboard)
  expect((await guest.post('/sign-in', { email: 'guest.a@example.com' })).status).toBe(200)
  // Opening the link, as mail scanners do, confirms nothing.
  expect((await guest.get(link)).text).toContain('Confirm guest.a@example.com')
  expect(await recipients(shop)).toEqual(['owner.a@example.com'])

  expect((await guest.post(link)).headers.get('location')).toBe(`/apps/${shop.appId}`)
  expect((await guest.get(shop.settings)).status).toBe(200)
  const signIns = dashboard.db.selectFrom('audit_log').select('who').where('app_id', '=', shop.appId)
  expect(await signIns.where('what', '=', 'sign_in').where('who', '=', 'guest.a@example.com').execute()).toHaveLength(1)
  expect(await recipients(shop)).toEqual(['guest.a@example.com', 'owner.a@example.com'])
  expect((await (await signIn(dashboard, 'guest.a@example.com')).get(shop.settings)).status).toBe(200)
  expect(await add(shop, 'guest.a@example.com')).toBe(409)
  // The request for a sign-in link was answered like any other request, but no mail was sent.
  await openVisitor(dashboard).post('/sign-in', { email: 'guest.a@example.com' })
  await linkTo('guest.a@example.com', 2)
  expect((await mailsTo('guest.a@example.com')).map(({ subject }) => subject)).toEqual([
    'Sign in to Sluice',
    'Confirm your address for Sluice',
  ])
})

describe('the link of an invitation', () => {
  test('works once, however many visitors use it at the same moment', async () => {
    const shop = await openShop('owner.b@example.com')
    await add(shop, 'guest.b@example.com')
    const link = await linkTo('guest.b@example.com')
    const visitors = Array.from({ length: 4 }, () => openVisitor(dashboard))
    const answers = await Promise.all(
      visitors.map(async (visitor) => {
        const page = await visitor.get(link)
        const form_token = formTokenIn(page.text)
        return async () => (await visitor.postWithoutToken(link, { form_token })).status
      }),
    )
    const statuses = await Promise.all(answers.map((answer) => answer()))
    expect(statuses.toSorted()).toEqual([303, 410, 410, 410])
    expect((await openVisitor(dashboard).get(link)).status).toBe(410)
  })

  test.each([
    ['after three days', (shop: Shop) => setExpiry(shop, new Date(Date.now() - 1_000))],
    ['when it is withdrawn', (shop: Shop, guest: string) => withdraw(shop, guest)],
    ['when another one replaces it', (shop: Shop, guest: string) => add(shop, guest)],
    ['for another app', async () => {}],
  ])('is no longer good %s', async (when, end) => {
    const shop = await openShop('owner.c@example.com')
    // An address of its own: the last mail of a preceding case may still arrive.
    const guest = `guest.${when.replaceAll(' ', '.')}@example.com`
    await add(shop, guest)
    let link = await linkTo(guest)
    if (when === 'for another app') {
      const other = await openShop('other.c@example.com')
      link = link.replace(`/invitations/${shop.appId}/`, `/invitations/${other.appId}/`)
    }
    await end(shop, guest)
    expect((await openVisitor(dashboard).get(link)).status).toBe(410)
    const secret = link.split('/').at(-1) ?? ''
    const appId = Number(link.split('/').at(-2))
    expect(await acceptInvitation(dashboard.db, appId, secret, { signsIn: true })).toBeUndefined()
  })

  test('signs in nobody who has access already: who has it for three days would see the other apps', async () => {
    const shop = await openShop('owner.h@example.com')
    await openApp(dashboard, 'Elsewhere', 'member.h@example.com')
    await add(shop, 'member.h@example.com')
    const link = await linkTo('member.h@example.com')
    const guest = openVisitor(dashboard)
    const accepted = await guest.post(link)
    expect([accepted.status, accepted.text]).toEqual([200, expect.stringContaining('You are a member now')])
    expect((await guest.get('/apps')).headers.get('location')).toContain('/sign-in')
    expect(await recipients(shop)).toContain('member.h@example.com')
  })

  test('leads a person who is signed in to the app, and keeps the session', async () => {
    const shop = await openShop('owner.k@example.com')
    const elsewhere = await openShop('member.k@example.com')
    await add(shop, 'member.k@example.com')
    const accepted = await elsewhere.owner.post(await linkTo('member.k@example.com'))
    expect([accepted.status, accepted.headers.get('location')]).toEqual([303, `/apps/${shop.appId}`])
    for (const { settings } of [shop, elsewhere]) expect((await elsewhere.owner.get(settings)).status).toBe(200)
  })

  test.each<[access: string, grant: (email: string) => Promise<unknown>]>([
    ['another app', (email) => createApp(dashboard.db, { name: 'Elsewhere', email })],
    ['membership of another app', (email) => addElsewhere(email)],
    ['another app by invitation', (email) => acceptElsewhere(email)],
    ['the rights of an operator', (email) => addOperator(dashboard.db, email)],
  ])('began a session that ends, unlike that of a sign-in, when the address gains %s', async (access, grant) => {
    const shop = await openShop('owner.j@example.com')
    const email = `guest.${access.replaceAll(' ', '.')}@example.com`
    await add(shop, email)
    const guest = openVisitor(dashboard)
    expect((await guest.post(await linkTo(email))).status).toBe(303)
    expect((await guest.get(shop.settings)).status).toBe(200)
    const signedIn = await signIn(dashboard, email)
    await grant(email)
    expect((await guest.get(shop.settings)).headers.get('location')).toContain('/sign-in')
    expect((await signedIn.get(shop.settings)).status).toBe(200)
  })

  async function addElsewhere(email: string): Promise<void> {
    const { appId } = await openApp(dashboard, 'Elsewhere', 'owner.j@example.com')
    expect(await addMember(dashboard.db, appId, email)).toBe(true)
  }

  async function acceptElsewhere(email: string): Promise<void> {
    const { appId } = await openApp(dashboard, 'Elsewhere', 'owner.j@example.com')
    const invited = await inviteMember(dashboard.db, appId, { email, by: 'owner.j@example.com', memberLimit: 9 })
    const secret = invited.outcome === 'invited' ? invited.secret : ''
    expect(await acceptInvitation(dashboard.db, appId, secret, { signsIn: true })).toEqual({ session: undefined })
  }

  async function setExpiry({ appId }: Shop, at: Date): Promise<void> {
    await dashboard.db.updateTable('invitations').set({ expires_at: at }).where('app_id', '=', appId).execute()
  }
})

test('the mail names inviter and addressee, and otherwise holds only the quoted, truncated app name', async () => {
  const name = `Prize” – your account is locked\n\n${'x'.repeat(150)}`
  const shop = await openShop('owner.d@example.com', name)
  await add(shop, 'guest.d@example.com')
  const link = await linkTo('guest.d@example.com')
  const [mail] = await mailsTo('guest.d@example.com')
  expect(mail?.subject).toBe('Confirm your address for Sluice')
  const [opening] = mail?.text.split('\n') ?? []
  expect(opening).toMatch(
    /^owner\.d@example\.com has added guest\.d@example\.com to the members of the app “Prize’ – your account is locked x{20,}…” in Sluice\. /,
  )
  expect(mail?.text).toContain('The link is for guest.d@example.com.')
  expect(mail?.text.match(/http/g)).toHaveLength(1)
  const page = await openVisitor(dashboard).get(link)
  expect(page.text).toMatch(/owner\.d@example\.com has added <strong>guest\.d@example\.com<\/strong>/)
})

describe('confirmation mails are limited', () => {
  test('an app sends at most 20 in an hour, and has a limited number of members and invitations', async () => {
    const shop = await openShop('owner.e@example.com')
    const statuses: number[] = []
    for (let n = 1; n <= 22; n++) statuses.push(await add(shop, `stranger-${n}@example.com`))
    expect(statuses.filter((status) => status === 303)).toHaveLength(20)
    expect(statuses.slice(20)).toEqual([429, 429])
    const refused = await shop.owner.post(
      `${shop.settings}/members`,
      { email: 'stranger-23@example.com' },
      shop.settings,
    )
    const wait = Number(refused.headers.get('retry-after'))
    expect(wait).toBeGreaterThan(3_500)
    expect(wait).toBeLessThanOrEqual(3_600)
    await sql`update invitation_mails set sent_at = sent_at - interval '1 hour'`.execute(dashboard.db)
    statuses.length = 0
    for (let n = 21; n <= 31; n++) statuses.push(await add(shop, `stranger-${n}@example.com`))
    // The owner counts as a member.
    expect(statuses).toEqual([...Array(9).fill(303), 409, 409])
    const mails = await until('the mails', async () => {
      const all = (await dashboard.mails()).filter(({ to }) => to[0]?.startsWith('stranger-'))
      return all.length >= 29 && all
    })
    expect(mails).toHaveLength(29)
  })

  // docs/faults.md, Postgres: a stored time further ahead than anyone sets counts as due.
  test('a mail that counts from before Postgres’s clock was set back does not delay the next one by as much', async () => {
    const shop = await openShop('owner.k@example.com')
    const { db } = dashboard
    await sql`
      insert into invitation_mails (app_id, email, sent_at)
      select ${shop.appId}, 'guest.k@example.com', now() + interval '30 days' from generate_series(1, 20)
    `.execute(db)
    expect(await add(shop, 'guest.k@example.com')).toBe(303)
  })

  test('an app sends at most three to one address in a day, even if invitations are withdrawn', async () => {
    const shop = await openShop('owner.f@example.com')
    const statuses: number[] = []
    for (let n = 1; n <= 4; n++) {
      statuses.push(await add(shop, 'guest.f@example.com'))
      await withdraw(shop, 'guest.f@example.com')
    }
    expect(statuses).toEqual([303, 303, 303, 429])
  })

  test('all apps together send at most ten to one address in a day, even at the same moment', async () => {
    const { db } = dashboard
    const apps: number[] = []
    for (let n = 0; n < 12; n++) apps.push((await openApp(dashboard, 'Shop', 'owner.g@example.com')).appId)
    const invited = { email: 'guest.g@example.com', by: 'owner.g@example.com', memberLimit: 30 }
    const outcomes = await Promise.all(apps.map((appId) => inviteMember(db, appId, invited)))
    expect(outcomes.filter(({ outcome }) => outcome === 'invited')).toHaveLength(10)
    const waits = outcomes.flatMap((refused) =>
      refused.outcome === 'too many mails' ? [refused.waitMs / 3_600_000] : [],
    )
    expect(waits.map(Math.round)).toEqual([24, 24])
  })
})

test('withdrawing an invitation does not affect the person’s sign-ins for other apps', async () => {
  const shop = await openShop('owner.h@example.com')
  const other = await openShop('person.h@example.com')
  await add(shop, 'person.h@example.com')
  await withdraw(shop, 'person.h@example.com')
  expect((await other.owner.get(other.settings)).status).toBe(200)
})

// design.md §3, E-mail addresses.
test('an address that an operator adds on the command line counts as confirmed, and its invitation ends', async () => {
  const shop = await openShop('owner.i@example.com')
  await add(shop, 'guest.i@example.com')
  const link = await linkTo('guest.i@example.com')
  expect(await addMember(dashboard.db, shop.appId, 'guest.i@example.com')).toBe(true)
  expect(await recipients(shop)).toEqual(['guest.i@example.com', 'owner.i@example.com'])
  expect((await openVisitor(dashboard).get(link)).status).toBe(410)
})
