import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Database } from '@sluice/database'

/** Signs texts for one purpose, such as a cookie's name. A signature for one purpose is not valid for another. */
export interface Signer {
  sign(purpose: string, text: string): Promise<string>
  /** Whether the signature belongs to this text. Takes constant time, so that the duration reveals nothing. */
  verify(purpose: string, text: string, signature: string): Promise<boolean>
}

/**
 * Opens a signer whose signatures all processes of a deployment accept. A migration inserts the key into Postgres, so
 * operators have no key to distribute or to lose. The signer reads the key on first use.
 */
export function openSigner(db: Database): Signer {
  let reading: Promise<Buffer> | undefined
  const readKey = async () => {
    reading ??= storedKey(db)
    try {
      return await reading
    } catch (error) {
      reading = undefined
      throw error
    }
  }
  const digest = async (purpose: string, text: string) =>
    createHmac('sha256', await readKey())
      .update(`${purpose}\0${text}`)
      .digest()
  return {
    sign: async (purpose, text) => (await digest(purpose, text)).toString('base64url'),
    async verify(purpose, text, signature) {
      const [expected, actual] = [await digest(purpose, text), Buffer.from(signature, 'base64url')]
      return actual.length === expected.length && timingSafeEqual(actual, expected)
    },
  }
}

async function storedKey(db: Database): Promise<Buffer> {
  const { key } = await db.selectFrom('signing_keys').select('key').executeTakeFirstOrThrow()
  return key
}
