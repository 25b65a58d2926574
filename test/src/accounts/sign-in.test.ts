import { addMember, createApp, removeMember } from '@sluice/accounts'
import { sql } from '@sluice/database'
import {
  acceptInvitation,
  addOperator,
  createLink,
  findInvitation,
  findLink,
  findVisitor,
  inviteMember,
  openSigner,
  type ProviderSignIn,
  redeemLink,
  signInAtProvider,
} from '@sluice/sign-in'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'

const database = openBeforeAll(openTestDatabase)

/** Returns the secrets of a link and of a session of the address, which becomes a member's. */
async function signIn(email: string): Promise<{ link: string; session: string }> {
  await createApp(database.db, { name: 'Shop', email })
  const link = (await createLink(database.db, email))?.secret ?? ''
  return { link, session: (await redeemLink(database.db, link))?.secret ?? '' }
}

test('a session ends 7 days after signing in, although it is used', async () => {
  const { session } = await signIn('anna@example.com')
  const { rows } = await sql<{ hours: number }>`
    select extract(epoch from expires_at - now())::float8 / 3600 as hours from sessions where email = 'anna@example.com'
  `.execute(database.db)
  expect(rows[0]?.hours).toBeGreaterThan(7 * 24 - 1)
  expect(rows[0]?.hours).toBeLessThanOrEqual(7 * 24)
  const age = (interval: string) =>
    sql`update sessions set expires_at = expires_at - ${interval}::interval where email = 'anna@example.com'`.execute(
      database.db,
    )
  await age('6 days 23 hours')
  expect(await findVisitor(database.db, session)).toMatchObject({ email: 'anna@example.com' })
  await age('1 hour')
  expect(await findVisitor(database.db, session)).toBeUndefined()
})

test('a sign-in at a provider while the person is removed leaves no session for the time when they are added again', async () => {
  const { db } = database
  const [email, other] = ['removed@example.com', 'other@example.com']
  const { appId } = await createApp(db, { name: 'Shop', email: other })
  await addMember(db, appId, email)
  const identity = { issuer: 'https://id.example.com', subject: 'removed', email, isInOperatorGroup: false }
  await signInAtProvider(db, identity)
  const waiting = async () => {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    `.execute(db)
    return rows[0]?.n ?? 0
  }
  let removed: Promise<unknown> = Promise.resolve()
  let signedIn: Promise<ProviderSignIn> | undefined
  await db.transaction().execute(async (tx) => {
    // The removal forgets the account last.
    await sql`select from provider_accounts where email = ${email} for update`.execute(tx)
    removed = removeMember(db, appId, email)
    await until('the removal waits', async () => (await waiting()) === 1)
    let isDone = false
    signedIn = signInAtProvider(db, identity).finally(() => {
      isDone = true
    })
    await until('the sign-in has ended or waits', async () => isDone || (await waiting()) === 2)
  })
  await removed
  const result = await signedIn
  await addMember(db, appId, email)
  const session = result?.outcome === 'signed in' ? result.secret : ''
  expect(await findVisitor(db, session)).toBeUndefined()
})

// docs/faults.md, Postgres: a stored time further ahead than anyone sets counts as due.
test('what was to expire is not valid for longer because Postgres’s clock was set back by a day', async () => {
  const { db } = database
  const email = 'late@example.com'
  const { session } = await signIn(email)
  const unused = (await createLink(db, email))?.secret ?? ''
  const { appId } = await createApp(db, { name: 'Shop', email: 'owner@example.com' })
  const invited = await inviteMember(db, appId, { email: 'new@example.com', by: email, memberLimit: 9 })
  const invitation = invited.outcome === 'invited' ? invited.secret : ''
  await addOperator(db, 'staff@example.com')
  const identity = {
    issuer: 'https://id.example.com',
    subject: 's',
    email: 'staff@example.com',
    isInOperatorGroup: true,
  }
  const confirmed = await signInAtProvider(db, identity)
  const secret = confirmed.outcome === 'signed in' ? confirmed.secret : ''
  const valid = async () => [
    (await findVisitor(db, session))?.email,
    (await findVisitor(db, secret))?.email,
    await findLink(db, unused),
    (await findInvitation(db, appId, invitation))?.email,
  ]
  expect(await valid()).toEqual([email, 'staff@example.com', email, 'new@example.com'])
  await sql`update sessions set expires_at = expires_at + interval '1 day' where email = ${email}`.execute(db)
  await sql`update sessions set confirmed_until = confirmed_until + interval '1 day'`.execute(db)
  await sql`update sign_in_links set expires_at = expires_at + interval '1 day'`.execute(db)
  await sql`update invitations set expires_at = expires_at + interval '1 day'`.execute(db)
  expect(await valid()).toEqual([undefined, undefined, undefined, undefined])
  expect(await redeemLink(db, unused)).toBeUndefined()
  expect(await acceptInvitation(db, appId, invitation, { signsIn: true })).toBeUndefined()
})

test('the database contains no secret of a link, a session or an invitation', async () => {
  const { link, session } = await signIn('bert@example.com')
  const unused = (await createLink(database.db, 'bert@example.com'))?.secret ?? ''
  const { appId } = await createApp(database.db, { name: 'Shop', email: 'bert@example.com' })
  const invited = await inviteMember(database.db, appId, {
    email: 'c@example.com',
    by: 'b@example.com',
    memberLimit: 9,
  })
  const invitation = invited.outcome === 'invited' ? invited.secret : ''
  const tables = ['sign_in_links', 'sessions', 'invitations', 'invitation_mails', 'mails']
  const stored = await Promise.all(
    tables.map((table) =>
      sql<{ row: string }>`select ${sql.table(table)}::text as row from ${sql.table(table)}`.execute(database.db),
    ),
  )
  const text = stored.flatMap(({ rows }) => rows.map(({ row }) => row)).join('\n')
  expect(text).toContain('bert@example.com')
  expect(text).toContain('c@example.com')
  for (const secret of [link, session, unused, invitation]) {
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(text).not.toContain(secret)
    expect(text).not.toContain(Buffer.from(secret).toString('hex'))
    expect(text).not.toContain(Buffer.from(secret, 'base64url').toString('hex'))
  }
})

test('a signature is valid in every process, for its own purpose and text only', async () => {
  const [here, elsewhere] = [openSigner(database.db), openSigner(database.db)]
  const signature = await here.sign('cookie', 'anna')
  expect(await elsewhere.verify('cookie', 'anna', signature)).toBe(true)
  expect(await elsewhere.verify('form', 'anna', signature)).toBe(false)
  expect(await elsewhere.verify('cookie', 'bert', signature)).toBe(false)
  expect(await elsewhere.verify('cookie', 'anna', signature.slice(0, -2))).toBe(false)
  expect(await elsewhere.verify('cookie', 'anna', '')).toBe(false)
})

test('a signer that could not read its key reads it again for the next signature', async () => {
  const other = await openTestDatabase()
  const signer = openSigner(other.db)
  await sql`alter table signing_keys rename to hidden`.execute(other.db)
  await expect(signer.sign('cookie', 'anna')).rejects.toThrow()
  await sql`alter table hidden rename to signing_keys`.execute(other.db)
  expect(await signer.sign('cookie', 'anna')).not.toBe('')
  await other.close()
})
