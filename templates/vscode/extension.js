// Starts `lessons lsp` and shows the places of a tested pattern. Everything else is the server's.
const { spawnSync } = require('node:child_process')
const vscode = require('vscode')
const { LanguageClient } = require('vscode-languageclient/node')

let client

exports.activate = async () => {
  const settings = vscode.workspace.getConfiguration('lessons')
  const options = {
    documentSelector: [{ scheme: 'file' }],
    initializationOptions: { detect: settings.get('detect'), guards: settings.get('guards') },
    middleware: {
      async executeCommand(command, args, next) {
        const places = await next(command, args)
        if (command === 'lessons.testPattern' && places?.length) {
          const found = places.map((one) => client.protocol2CodeConverter.asLocation(one))
          const card = vscode.Uri.parse(args[0])
          const line = new vscode.Position(args[1], 0)
          await vscode.commands.executeCommand('editor.action.showReferences', card, line, found)
        }
        return places
      },
    },
  }
  const command = settings.get('command')
  if (spawnSync(command, ['--version']).status !== 0) return offerInstallation(command)
  const server = { command, args: ['lsp'] }
  client = new LanguageClient('lessons', 'Lessons', server, options)
  await client.start()
}

const offerInstallation = async (command) => {
  const install = 'Install with uv'
  const text = `Lessons: ${command} does not run. Install it, or name it in lessons.command.`
  if ((await vscode.window.showWarningMessage(text, install)) !== install) return
  const terminal = vscode.window.createTerminal('Lessons')
  terminal.show()
  terminal.sendText('uv tool install "lessons-kb[lsp,mcp]" && lessons setup')
}

exports.deactivate = () => client?.stop()
