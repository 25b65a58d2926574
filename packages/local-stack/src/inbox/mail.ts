import PostalMime from 'postal-mime'

/** A mail as the inbox shows it and as `GET /api/mails` returns it. */
export interface Mail {
  /** A number as text. A later mail has a larger number. */
  id: string
  /** The recipients of the envelope. */
  to: string[]
  /** The sender, as `Name <address>`. */
  from: string
  subject: string
  /** The plain text; empty if the mail has none. */
  text: string
  /** The unchanged HTML, including scripts; null if the mail has none. */
  html: string | null
  message_id: string | null
  /** ISO 8601, UTC. */
  received_at: string
}

/** Parses a mail as received by SMTP. Throws if it is malformed. */
export async function readMail(
  raw: Uint8Array,
  envelope: { to: string[]; from: string },
): Promise<Omit<Mail, 'id' | 'received_at'>> {
  const parsed = await PostalMime.parse(raw)
  const address = parsed.from?.address ?? envelope.from
  return {
    to: envelope.to,
    from: parsed.from?.name ? `${parsed.from.name} <${address}>` : address,
    subject: parsed.subject ?? '',
    text: parsed.text ?? '',
    html: parsed.html ?? null,
    message_id: parsed.messageId ?? null,
  }
}
