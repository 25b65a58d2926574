import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Database } from '@sluice/database'

/** Signs texts for one purpose, such as a cookie's name: a signature for one is none for another. */
export interface Signer {
  sign(purpose: string, text: string): Promise<string>
  /** Whether the signature is this text's. It takes as long for a wrong one as for a right one. */
  verify(purpose: string, text: string, signature: string): Promise<boolean>
}

/**
 * Opens the signatures that all processes of a deployment share. Their key lives in Postgres, made by the migration: there
 * is none to hand out or to lose. It is read when it is first needed.
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
      const [right, given] = [await digest(purpose, text), Buffer.from(signature, 'base64url')]
      return given.length === right.length && timingSafeEqual(given, right)
    },
  }
}

async function storedKey(db: Database): Promise<Buffer> {
  const { key } = await db.selectFrom('signing_keys').select('key').executeTakeFirstOrThrow()
  return key
}
