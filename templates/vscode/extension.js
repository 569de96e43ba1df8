// Connects VS Code to `lessons`: its language server, its cards and drafts as a tree, `lessons why`.
// What is said about a card or a line of code is the server's.
const { execFile } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const vscode = require('vscode')
const { LanguageClient } = require('vscode-languageclient/node')

const REQUIREMENT = 'lessons-kb[lsp,mcp]'
const INSTALLERS = {
  uv: ['tool', 'install', REQUIREMENT],
  pipx: ['install', '--force', REQUIREMENT],
}
const MANUAL = 'https://lessons-kb.github.io/lessons-kb/latest/editors/'
const KINDS = { lesson: 'Lessons', playbook: 'Playbooks', 'qa-finding': 'QA findings' }
const SILENT = 'lessons.silent'
const QUIET_MS = 500

let client
let program
let starting = Promise.resolve()
let explained = ''

exports.activate = (context) => {
  const tree = new Tree()
  const view = vscode.window.createTreeView('lessons.cards', { treeDataProvider: tree })
  const watcher = vscode.workspace.createFileSystemWatcher('**/*.{md,markdown}')
  const restart = () => (starting = starting.then(() => start(context, tree)).catch(tell))
  const shown = new vscode.EventEmitter()
  const explanation = { onDidChange: shown.event, provideTextDocumentContent: () => explained }
  const commands = {
    'lessons.restart': restart,
    'lessons.install': () => install(restart),
    'lessons.refresh': () => tree.refresh(),
    'lessons.open': async (item) => vscode.window.showTextDocument(await uriOf(item)),
    'lessons.why': () => explain(shown),
  }
  context.subscriptions.push(
    view,
    watcher,
    shown,
    watcher.onDidChange(tree.refreshSoon, tree),
    watcher.onDidCreate(tree.refreshSoon, tree),
    watcher.onDidDelete(tree.refreshSoon, tree),
    // Agents write drafts, and a shell cards, while somebody looks elsewhere.
    vscode.window.onDidChangeWindowState((state) => state.focused && tree.refreshSoon()),
    view.onDidChangeVisibility(() => tree.refreshSoon()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => tree.refresh()),
    vscode.workspace.onDidChangeConfiguration(
      (change) => change.affectsConfiguration('lessons') && restart(),
    ),
    vscode.workspace.registerTextDocumentContentProvider('lessons', explanation),
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(name, (...args) => Promise.resolve(run(...args)).catch(tell)),
    ),
  )
  return restart()
}

exports.deactivate = () => client?.stop()

// Start the server that is found, or offer to install one.
const start = async (context, tree) => {
  const settings = vscode.workspace.getConfiguration('lessons')
  if (client?.isRunning()) await client.stop()
  client = undefined
  program = await findServer(settings.get('command'))
  if (program) {
    client = connect(settings, tree)
    await client.start()
  }
  await vscode.commands.executeCommand('setContext', 'lessons.server', program ? 'runs' : 'missing')
  tree.refresh()
  if (!program) offerInstallation(context, settings.get('command'))
}

// Return the first of the commands with a name that serves editors: at the end of its input the
// server ends well; without the extra `lsp` it does not start.
const findServer = async (command) => {
  for (const file of findPrograms(command)) {
    const served = run(file, os.homedir(), ['lsp']).then(() => true)
    if (await served.catch(() => false)) return file
  }
}

// Return the absolute paths of a command. An editor started from a desktop often has a short PATH,
// and a bare name would be looked up in the open folder on Windows.
const findPrograms = (command) => {
  const name = process.platform === 'win32' ? command.replace(/(\.exe)?$/i, '.exe') : command
  const folders = [
    ...(process.env.PATH ?? '').split(path.delimiter),
    path.join(os.homedir(), '.local', 'bin'),
  ]
  const files = path.isAbsolute(name) ? [name] : folders.map((folder) => path.join(folder, name))
  return files.filter((file) => path.isAbsolute(file) && fs.existsSync(file))
}

const connect = (settings, tree) => {
  const server = { command: program, args: ['lsp'] }
  const executeCommand = async (command, args, next) => {
    // A lens sends what the server wants; the palette sends nothing, the tree one of its items.
    const sent = typeof args[0] === 'string' ? args : [(await uriOf(args[0])).toString()]
    const result = await next(command, sent)
    if (command === 'lessons.testPattern' && result?.length) {
      const places = result.map((place) => client.protocol2CodeConverter.asLocation(place))
      const card = vscode.Uri.parse(sent[0])
      const line = new vscode.Position(sent[1], 0)
      await vscode.commands.executeCommand('editor.action.showReferences', card, line, places)
    }
    tree.refreshSoon()
    return result
  }
  return new LanguageClient('lessons', 'Lessons', server, {
    documentSelector: [{ scheme: 'file' }],
    initializationOptions: { detect: settings.get('detect'), guards: settings.get('guards') },
    middleware: { executeCommand },
  })
}

const offerInstallation = async (context, command) => {
  if (context.globalState.get(SILENT)) return
  const text = `Lessons: no command \`${command}\` was found that serves editors.`
  const [now, other, never] = ['Install', 'Name Another Command', "Don't Show Again"]
  const answer = await vscode.window.showWarningMessage(text, now, other, never)
  if (answer === now) await vscode.commands.executeCommand('lessons.install')
  if (answer === other)
    await vscode.commands.executeCommand('workbench.action.openSettings', 'lessons.command')
  if (answer === never) await context.globalState.update(SILENT, true)
}

// Install the server with the first installer there is.
const install = async (restart) => {
  const name = Object.keys(INSTALLERS).find((one) => findPrograms(one).length)
  if (!name) return vscode.env.openExternal(vscode.Uri.parse(MANUAL))
  const title = `Installing ${REQUIREMENT} with ${name}`
  await vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, () =>
    run(findPrograms(name)[0], os.homedir(), INSTALLERS[name]),
  )
  await restart()
  const text = 'Lessons is installed. `lessons setup` in a terminal connects your coding agents.'
  if (program) vscode.window.showInformationMessage(text)
}

const tell = (error) => vscode.window.showErrorMessage(`Lessons: ${error.message}`)

const folderPaths = () => {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(
    (one) => one.uri.scheme === 'file',
  )
  return folders.length ? folders.map((one) => one.uri.fsPath) : [os.homedir()]
}

// Return the folder of the file in front, else the first.
const currentFolder = () => {
  const uri = vscode.window.activeTextEditor?.document.uri
  return (uri && vscode.workspace.getWorkspaceFolder(uri)?.uri.fsPath) ?? folderPaths()[0]
}

// Return what a program prints; throws what it says where it fails.
const run = (file, cwd, args) =>
  new Promise((resolve, reject) => {
    const options = { cwd, maxBuffer: 1 << 28 }
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      const said = stderr.trim().replace(/^lessons: /gm, '')
      return error ? reject(new Error(said || error.message)) : resolve(stdout || said)
    })
    child.stdin.on('error', () => {}).end()
  })

const runJson = async (folder, ...args) =>
  JSON.parse(await run(program, folder, ['--json', ...args]))

// Return the file of a card or draft in the tree, of a resource, or the one in front.
const uriOf = async (target = vscode.window.activeTextEditor?.document.uri) => {
  if (!target) throw new Error('open a card first')
  if (target instanceof vscode.Uri) return target
  const file = target.file ?? (await runJson(target.folder, 'show', target.card)).file
  return vscode.Uri.file(file)
}

// Show why lessons came with a prompt and others did not; the selected text is offered as prompt.
const explain = async (shown) => {
  const editor = vscode.window.activeTextEditor
  const folder = currentFolder()
  const prompt = await vscode.window.showInputBox({
    title: 'Lessons: Why?',
    prompt: 'A prompt to explain. Leave it empty to explain the last one that an agent was given.',
    value: editor?.document.getText(editor.selection).trim(),
  })
  if (prompt === undefined) return
  explained = await run(program, folder, ['why', ...(prompt.trim() ? ['--', prompt] : [])])
  const uri = vscode.Uri.parse('lessons:Why')
  shown.fire(uri)
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri))
}

// The drafts and the cards of each folder, by kind.
class Tree {
  changed = new vscode.EventEmitter()
  onDidChangeTreeData = this.changed.event

  refresh() {
    this.changed.fire()
  }

  // What writes cards writes several, or a card and what was counted of it.
  refreshSoon() {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => this.refresh(), QUIET_MS)
  }

  getTreeItem(item) {
    return item
  }

  getChildren(item) {
    if (!program) return []
    if (item) return item.children()
    const folders = folderPaths()
    if (folders.length === 1) return groupsIn(folders[0])
    const icon = vscode.ThemeIcon.Folder
    return folders.map((folder) => branch(path.basename(folder), icon, () => groupsIn(folder)))
  }
}

const branch = (label, icon, children, more) =>
  Object.assign(new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded), {
    iconPath: icon,
    children,
    ...more,
  })

const groupsIn = async (folder) => {
  try {
    const [drafts, cards] = await Promise.all([
      runJson(folder, 'review', '--list'),
      runJson(folder, 'list', '--all', '--status', 'all', '--sort', 'title'),
    ])
    const groups = [['Drafts', 'inbox', drafts.map((draft) => draftItem(folder, draft))]]
    for (const [kind, label] of Object.entries(KINDS)) {
      const items = cards.filter((card) => card.kind === kind).map((card) => cardItem(folder, card))
      groups.push([label, 'library', items])
    }
    const filled = groups.filter(([, , items]) => items.length)
    if (!filled.length)
      throw new Error('no cards yet: type `lesson` in a Markdown file of the brain')
    return filled.map(([label, icon, items]) =>
      branch(label, new vscode.ThemeIcon(icon), () => items, { description: `${items.length}` }),
    )
  } catch (error) {
    const item = new vscode.TreeItem(error.message)
    return [Object.assign(item, { tooltip: error.message, iconPath: new vscode.ThemeIcon('info') })]
  }
}

const leaf = (label, more) => {
  const item = Object.assign(new vscode.TreeItem(label), more)
  item.command = { command: 'lessons.open', title: 'Open', arguments: [item] }
  return item
}

const cardItem = (folder, card) =>
  leaf(card.title, {
    folder,
    card: card.id,
    contextValue: 'card',
    description: `${card.occurrences}×${card.status === 'active' ? '' : ` ${card.status}`}`,
    tooltip: [card.id, `severity: ${card.severity}`, ...card.symptoms].join('\n'),
    iconPath: new vscode.ThemeIcon(card.status === 'active' ? 'note' : 'circle-slash'),
  })

const draftItem = (folder, draft) =>
  leaf(draft.title, {
    folder,
    file: draft.path,
    contextValue: draft.missing.length ? 'draft' : 'draft-complete',
    description: draft.missing.length ? `${draft.missing.length} missing` : 'complete',
    tooltip: [draft.title, ...draft.missing].join('\n'),
    iconPath: new vscode.ThemeIcon(draft.missing.length ? 'edit' : 'check'),
  })
