package main

var resolutions = []string{"1920x1080", "2560x1440", "3840x2160", "5120x2880", "7680x4320", "1440x3200", "2048x2732", "3440x1440"}

var licenses = []string{"CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "all rights reserved", ""}

var emoji = []string{"🌄", "🌊🌊", "❄️", "✨✨✨", "🏔️🌲", "🌸", "🐺", "🚀🪐", "☕️📚", "🦊🍂", "🌧️", "🏳️‍🌈", "👩‍🎨"}

var comments = []string{
	"Looks great on two screens!", "Is there a version without the watermark?", "Top! 👍👍", "¿Lo tienes en vertical?",
	"Sehr schön, danke fürs Teilen.", "きれいですね。", "جميل جدا", "first", "The colours are a bit too strong for me.",
	"Used it for a year, still not bored.", "Merci, parfait pour l'hiver !", "Очень уютно.", "太美了，谢谢分享",
}

// language is the stuff that titles and descriptions in one language are made of.
type language struct {
	code                                  string
	subjects, joints, settings, sentences []string
}

// languages: the first is the commonest in the file.
var languages = append(latinLanguages, otherLanguages...)
