export type { Content } from './content.ts'
export { deletionNotification } from './deletion-notification.ts'
export {
  disabledWebhookNotification,
  type FailingWebhook,
  failingWebhookNotification,
} from './failing-webhook-notification.ts'
export { forgetMailContents } from './forget.ts'
export { type HeldImport, heldNotification } from './held-notification.ts'
export { removeOldMails } from './history.ts'
export { type EndedImport, importNotification } from './import-notification.ts'
export {
  dueMails,
  enqueueMails,
  type MailId,
  type MailOverview,
  mailBacklog,
  mailOverview,
  nextMails,
} from './outbox.ts'
export { type RefusedFile, refusedFileNotification } from './refused-file-notification.ts'
export { type Mailer, mailerSettings, openMailer, type SendOutcome } from './send.ts'
export { type Invited, invitation, signInLink } from './sign-in-mails.ts'
export { mailSettings, openTransport, type Transport } from './transport.ts'
