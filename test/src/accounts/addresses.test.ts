import { addMember, createApp, InvalidAccount, removeMember } from '@sluice/accounts'
import { addOperator, createLink, findVisitor, redeemLink, removeOperator } from '@sluice/sign-in'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'

// One identity has one mailbox. Addresses are ASCII, and only their ASCII letters are compared without case.
const database = openBeforeAll(openTestDatabase)

const newApp = (email = 'owner@example.com') => createApp(database.db, { name: 'Shop', email })

/** Letters that some lower-casing functions turn into the ASCII letters of the operator's address. */
const lookalikes = [
  ['a capital I with a dot', 'admin@corp-ma\u0130l.example'],
  ['a small i without a dot', 'admin@corp-ma\u0131l.example'],
  ['the Kelvin sign', 'admin@\u212aiosk.example'],
  ['a full-width letter', '\uff41dmin@corp-mail.example'],
] as const

// design.md §3, E-mail addresses.
describe.each(lookalikes)('an address with %s', (_, address) => {
  test('is refused for a member, an operator and an app', async () => {
    const { appId } = await newApp()
    await expect(addMember(database.db, appId, address)).rejects.toThrow(InvalidAccount)
    await expect(addOperator(database.db, address)).rejects.toThrow(InvalidAccount)
    await expect(newApp(address)).rejects.toThrow(InvalidAccount)
  })

  test('that is stored nevertheless signs nobody in, and locks no operator out', async () => {
    const operator = address.includes('iosk') ? 'admin@kiosk.example' : 'admin@corp-mail.example'
    await addOperator(database.db, operator)
    const { appId } = await newApp()
    await database.db.insertInto('members').values({ app_id: appId, email: address }).execute()
    expect(await createLink(database.db, address)).toBeUndefined()
    expect(await createLink(database.db, operator)).toMatchObject({ email: operator })
  })
})

test('an address is stored in lower case, and found in any case', async () => {
  const { appId } = await newApp('Anna.Smith@Example.COM')
  expect(await createLink(database.db, 'ANNA.smith@example.com')).toMatchObject({ email: 'anna.smith@example.com' })
  expect(await addMember(database.db, appId, 'ANNA.SMITH@EXAMPLE.COM')).toBe(false)
})

describe('a sign-in ends when its owner is removed:', () => {
  /** Signs in by a new link. Returns the session. */
  async function signIn(email: string): Promise<string> {
    const link = await createLink(database.db, email)
    return (await redeemLink(database.db, link?.secret ?? ''))?.secret ?? ''
  }

  test('for a member, neither session nor link works after the member is added again', async () => {
    const { appId } = await newApp()
    await addMember(database.db, appId, 'back@example.com')
    const session = await signIn('back@example.com')
    const link = await createLink(database.db, 'back@example.com')
    expect(await findVisitor(database.db, session)).toMatchObject({ email: 'back@example.com' })
    await removeMember(database.db, appId, 'back@example.com')
    await addMember(database.db, appId, 'back@example.com')
    expect(await findVisitor(database.db, session)).toBeUndefined()
    expect(await redeemLink(database.db, link?.secret ?? '')).toBeUndefined()
  })

  test('for an operator, neither session nor link works after the operator is added again', async () => {
    await addOperator(database.db, 'op@example.com')
    const session = await signIn('op@example.com')
    const link = await createLink(database.db, 'OP@example.com')
    await removeOperator(database.db, 'Op@example.com')
    await addOperator(database.db, 'op@example.com')
    expect(await findVisitor(database.db, session)).toBeUndefined()
    expect(await redeemLink(database.db, link?.secret ?? '')).toBeUndefined()
  })
})
