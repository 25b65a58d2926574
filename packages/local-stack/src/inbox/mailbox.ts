import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Mail } from './mail.ts'

/** Maximum number of mails in a mailbox, and maximum number of bytes in all. The oldest mails are removed first. */
interface MailboxLimits {
  mails: number
  bytes: number
}

/** A folder with one file for each mail. Mails survive a restart. */
export interface Mailbox {
  /** Stores a mail. When the promise resolves, the mail is on disk. */
  add(mail: Omit<Mail, 'id' | 'received_at'>): Promise<void>
  /** Returns all mails, newest first (design.md §2, Inbox). */
  list(): Mail[]
  find(id: string): Mail | undefined
}

const defaultLimits: MailboxLimits = { mails: 1000, bytes: 64 * 1024 * 1024 }

/** Opens the mailbox in a folder, and creates the folder if it is missing. Ignores files that are not mails. */
export async function openMailbox(folder: string, limits = defaultLimits): Promise<Mailbox> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const kept = await readFolder(folder)

  /** Removes the oldest mails until the mailbox is within its limits. The newest mail stays even if it is too large. */
  async function makeRoom(): Promise<void> {
    let bytes = kept.reduce((sum, { size }) => sum + size, 0)
    while (kept.length > 1 && (kept.length > limits.mails || bytes > limits.bytes)) {
      const oldest = kept.shift()
      if (oldest === undefined) return
      bytes -= oldest.size
      await rm(fileOf(folder, oldest.mail.id), { force: true })
    }
  }

  await makeRoom()
  let lastId = Number(kept.at(-1)?.mail.id ?? 0)
  return {
    async add(received) {
      // IDs increase even if two mails arrive in one millisecond, or if the clock was set back.
      lastId = Math.max(Date.now(), lastId + 1)
      const mail: Mail = { id: String(lastId), ...received, received_at: new Date(lastId).toISOString() }
      const text = JSON.stringify(mail)
      const file = fileOf(folder, mail.id)
      await writeFile(`${file}.part`, text, { mode: 0o600 })
      await rename(`${file}.part`, file)
      kept.push({ mail, size: text.length })
      kept.sort((a, b) => Number(a.mail.id) - Number(b.mail.id))
      await makeRoom()
    },
    list: () => kept.map(({ mail }) => mail).reverse(),
    find: (id) => kept.find(({ mail }) => mail.id === id)?.mail,
  }
}

interface KeptMail {
  mail: Mail
  /** Approximate size of the file in bytes: its length in UTF-16 units. */
  size: number
}

/** Reads the mails of a folder, oldest first. Removes files that were incomplete when the process crashed. */
async function readFolder(folder: string): Promise<KeptMail[]> {
  const kept: KeptMail[] = []
  for (const name of await readdir(folder)) {
    if (/^\d+\.json\.part$/.test(name)) await rm(join(folder, name))
    if (!/^\d+\.json$/.test(name)) continue
    const text = await readFile(join(folder, name), 'utf8')
    const mail = readStored(text)
    if (mail !== undefined) kept.push({ mail, size: text.length })
  }
  return kept.sort((a, b) => Number(a.mail.id) - Number(b.mail.id))
}

/** Parses a stored mail. Returns undefined if a power failure has left the file without content. */
function readStored(text: string): Mail | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fileOf(folder: string, id: string): string {
  return join(folder, `${id}.json`)
}
