export {
  createApp,
  findApp,
  listApps,
  lockApp,
  registerToken,
  renameApp,
  replaceToken,
  requireApp,
  showToken,
  type TokenSummary,
  UnknownApp,
} from './app.ts'
export { type AppSummary, type AppView, listAppSummaries, showApp } from './app-view.ts'
export { assignCell, cellOf, OtherCell } from './cells.ts'
export { InvalidAccount, normalEmail, requireEmail } from './email.ts'
export { type ImportDefaults, importDefaults, setImportDefaults } from './import-defaults.ts'
export { type AppLimits, setAppLimits } from './limits.ts'
export { addMember, changeMembers, LastMember, listMembers, type Member, removeMember, sendMailsTo } from './members.ts'
export { endInvitedSessions, endSignIns, lockSessions } from './sign-ins.ts'
export { appOfToken, authenticator, type TokenOwner, tokenKey } from './token.ts'
export { findSubscriber, type Subscriber, unsubscribe } from './unsubscribe.ts'
