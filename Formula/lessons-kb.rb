class LessonsKb < Formula
  desc "Knowledge base of lesson cards that keeps coding agents from repeating mistakes"
  homepage "https://github.com/lessons-kb/lessons-kb"
  url "https://github.com/lessons-kb/lessons-kb.git",
      tag: "v0.1.0"
  license "MIT"

  depends_on "python@3.13"

  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", "#{buildpath}[mcp]"
    programs = Dir[libexec/"bin/lessons*"]
    inreplace programs, libexec.to_s, opt_libexec.to_s
    bin.install_symlink programs
    man1.install "templates/shell/lessons.1"
    bash_completion.install "templates/shell/lessons.bash" => "lessons"
    zsh_completion.install "templates/shell/_lessons"
    fish_completion.install "templates/shell/lessons.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/lessons --version")
    system bin/"lessons", "init", "brain"
  end
end
